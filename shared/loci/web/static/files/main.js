// The files, the newest first, or as they are chosen. The address says which one is open. The list is asked for again while one is not read yet.
const READING_MS = 2000;
const PATIENCE_MS = 300_000;
const STATES = { pending: 'waits to be read', running: 'is being read', error: 'not read' };
let expectedUntil = 0;
const NOT_READ = '!';
const ORDERS = {
  newest: () => 0, // as they come
  name: (one, two) => (one.name.toLowerCase() < two.name.toLowerCase() ? -1 : 1),
  size: (one, two) => two.bytes - one.bytes,
};

const retryOf = (file, className) => (file.status === 'error' ? [button('Retry', () => retry(file), { className })] : []);

async function retry(file) {
  try {
    await ask(`files/${file.id}/retry`, {}, {});
    say(`${file.name} is read again`);
  } catch (error) {
    say(error.message);
  }
  await files.refresh().catch(() => {});
  await detail.refresh();
}

async function remove(file) {
  const question = `Delete “${file.name}” with all its versions? This cannot be undone.`;
  if (!(await confirmed({ question, yes: 'Delete', send: () => ask(`files/${file.id}/delete`, {}, {}) }))) return;
  detail.leave();
  await files.refresh();
  find('content').focus();
  say('Deleted');
}

// The files with these words, of this type, in this order.
function chosenOf(rows) {
  const [words, format] = [find('filter').value.toLowerCase().split(/\s+/), find('format').value];
  const isWanted = (one) => (!format || (format === NOT_READ ? one.status !== 'okay' || one.left_out : one.format === format)) && words.every((word) => one.name.toLowerCase().includes(word));
  return rows.filter(isWanted).sort(ORDERS[find('order').value]);
}

function told(answer, some) {
  find('tools').hidden = answer.total < 2;
  if (!answer.total) return `There are no files yet. ${facts.uploads ? 'Drop some here, or run' : 'Run'}: loci add FILE`;
  if (some.length === answer.rows.length) return counted(answer, 'file');
  return some.length ? `${numeral(some.length)} of ${plural(answer.rows.length, 'file')}` : 'No file is like that';
}

function fileRow(file) {
  const contents = ['pages', 'sheets', 'tables', 'chunks'].filter((name) => file[name]).map((name) => plural(file[name], name === 'chunks' ? 'passage' : name.slice(0, -1)));
  const versions = file.versions > 1 ? [plural(file.versions, 'version')] : [];
  const about = filled('div', [[file.format, sizeOf(file.bytes), ...contents, ...versions].join(', '), ', added ', timeOf(file.added)], { className: 'under' });
  const isRead = file.status === 'okay';
  const mark = isRead ? file.left_out && 'read in part' : STATES[file.status];
  const why = isRead ? file.left_out : file.reason;
  const made = rowOf({ id: file.id, title: file.name, href: `#${file.id}`, mark, kind: file.status === 'error' ? 'bad' : 'asks', acts: retryOf(file, 'act small') }, about, why && note(why, isRead ? 'state' : 'state error'));
  for (const one of made.querySelectorAll('.title, .state')) one.title = one.textContent; // it may be cut
  made.dataset.status = file.status;
  return made;
}

const option = (value, text) => element('option', text, { value });
find('format').append(option('', 'All types'), ...facts.formats.map((one) => option(one, one)), option(NOT_READ, 'Not read, or in part'));
const files = makeList('files', 'files/list', { row: fileRow, step: 500, told, chosen: chosenOf });
const detail = makeDetail([fileOpener]);

for (const [id, when] of [['filter', 'input'], ['format', 'change'], ['order', 'change']]) {
  find(id).addEventListener(when, async () => {
    files.again();
    detail.mark();
    await files.all().catch((error) => say(error.message));
    detail.mark();
  });
}
fileButtons = (file) => [...retryOf(file, 'act small'), button('Delete', () => remove(file), { className: 'act small gone' })];

setInterval(async () => {
  const isReading = files.rows().some((one) => one.status === 'pending' || one.status === 'running');
  if (document.hidden || !(isReading || Date.now() < expectedUntil)) return;
  if (await files.refresh().catch(() => false)) expectedUntil = 0;
}, READING_MS);

if (facts.uploads) makeUpload(files.refresh, () => (expectedUntil = Date.now() + PATIENCE_MS));
detail.follow();
