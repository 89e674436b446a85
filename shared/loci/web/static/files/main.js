// The files, the newest first. The address says which one is open. The list is asked for again while one is not read yet.
const READING_MS = 2000;
const PATIENCE_MS = 300_000;
const STATES = { pending: 'waits to be read', running: 'is being read', error: 'not read' };
let expectedUntil = 0;

function fileRow(file) {
  const contents = ['pages', 'sheets', 'tables', 'chunks'].filter((name) => file[name]).map((name) => plural(file[name], name === 'chunks' ? 'passage' : name.slice(0, -1)));
  const versions = file.versions > 1 ? [plural(file.versions, 'version')] : [];
  const about = filled('div', [[file.format, sizeOf(file.bytes), ...contents, ...versions].join(', '), ', added ', timeOf(file.added)], { className: 'under' });
  const isRead = file.status === 'okay';
  const made = rowOf({ id: file.id, title: file.name, href: `#${file.id}`, mark: !isRead && STATES[file.status], kind: file.status === 'error' ? 'bad' : 'asks' }, about, !isRead && file.reason && note(file.reason, 'state error'));
  made.dataset.status = file.status;
  return made;
}

const files = makeList('files', 'files/list', {
  row: fileRow,
  step: 500,
  told: (answer) => (answer.total ? counted(answer, 'file') : `There are no files yet. ${facts.uploads ? 'Drop some here, or run' : 'Run'}: loci add FILE`),
});
const detail = makeDetail([fileOpener]);

setInterval(async () => {
  const isReading = files.rows().some((one) => one.status === 'pending' || one.status === 'running');
  if (document.hidden || !(isReading || Date.now() < expectedUntil)) return;
  if (await files.refresh().catch(() => false)) expectedUntil = 0;
}, READING_MS);

if (facts.uploads) makeUpload(files.refresh, () => (expectedUntil = Date.now() + PATIENCE_MS));
detail.follow();
