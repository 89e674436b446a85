// The start page: what waits, what is here, what ran and failed last, and how a client connects.
const place = (section, name) => find(section).querySelector(name);

function copyable(line) {
  const text = element('pre', line);
  const copy = button('Copy', async () => {
    try {
      await navigator.clipboard.writeText(line);
      copy.textContent = 'Copied';
      say('Copied');
    } catch {
      // Only https and this machine give a page the clipboard.
      getSelection().selectAllChildren(text);
      say('Selected: copy it with the keyboard');
    }
  }, { ariaLabel: `Copy ${line}` });
  return filled('div', [text, copy], { className: 'line' });
}

const { begin } = facts;
const pasted = () => begin.clients.flatMap(({ name, line }) => [element('div', name, { className: 'client' }), copyable(line)]);
const connects = begin.connect && filled('p', [element('code', 'loci connect'), ' does it for the clients on this machine.'], { className: 'note' });

function stepOf(title, about, ...parts) {
  return filled('li', [element('h3', title), note(about), ...parts]);
}

function showFirstSteps() {
  const search = filled('p', ['Or ', element('a', 'search here', { href: address('search') }), ', in your own words.'], { className: 'note' });
  place('begin', 'ol').append(
    stepOf('Bring in your notes', 'A folder of markdown. Loci keeps up with it while it runs.', copyable(begin.ingest)),
    stepOf('Connect your agent', 'Paste one of these lines into it, or into its settings.', ...pasted(), connects),
    stepOf('Ask a question', 'Ask your agent what your notes say about something.', begin.search && copyable(begin.search), search),
  );
  find('begin').hidden = false;
}

function tileOf(href, number, name, ...under) {
  const made = filled('a', [element('b', numeral(number)), element('span', name), element('span', under.filter(Boolean).join(', ') || ' ', { className: 'under' })], { href: address(href) });
  return filled('li', [made]);
}

const ofOne = (number, one, many = `${one}s`) => (number === 1 ? one : many);

function failureRow(one) {
  const line = filled('div', [timeOf(one.at), one.why && ': ', one.why], { className: 'under', dir: 'auto' });
  return rowOf({ id: one.to, title: one.title, href: address(one.to), mark: one.what, kind: 'bad' }, line);
}

function showContents(here) {
  const isEmpty = here.documents + here.files + here.servers + here.learned + runs.total() === 0;
  find('contents').hidden = isEmpty;
  find('last').hidden = isEmpty;
  find('connect').hidden = isEmpty;
  if (isEmpty) return showFirstSteps();
  place('contents', 'ul').replaceChildren(
    tileOf('graph', here.documents, ofOne(here.documents, 'document'), plural(here.passages, 'passage')),
    tileOf('files', here.files, ofOne(here.files, 'file'), here.files > 0 && sizeOf(here.bytes), here.files > 0 && plural(here.file_passages, 'passage')),
    tileOf('tools', here.servers, ofOne(here.servers, 'tool server'), plural(here.tools, 'tool')),
    tileOf('tools#learned', here.learned, ofOne(here.learned, 'learned capability', 'learned capabilities'), 'code that worked'),
  );
  const { rows, total } = here.failed;
  place('failed', 'ul').replaceChildren(...rows.map(failureRow));
  showCharts(here.days);
  place('failed', 'p').textContent = total ? firstOf(here.failed) : 'Nothing has failed in the last day.';
}

function showCharts({ until, calls: [worked, failed], changed: [documents, files] }) {
  const charts = [
    makeChart({ title: 'Calls of tool servers', until, series: [{ name: 'worked', kind: 'good', values: worked }, { name: 'failed', kind: 'bad', values: failed }] }),
    makeChart({ title: 'New and changed', until, series: [{ name: 'documents', kind: 'first', values: documents }, { name: 'files', kind: 'second', values: files }] }),
  ].filter(Boolean);
  find('charts').replaceChildren(...charts);
  find('charts').hidden = charts.length === 0;
}

function runRow(run) {
  const state = { running: '', complete: 'strong', error: 'bad', aborted: 'bad' }[run.status] ?? 'asks';
  const line = filled('div', [timeOf(run.began), `, ${run.done} of ${plural(run.tasks, 'task')}`, run.failed > 0 && `, ${run.failed} failed`], { className: 'under' });
  return rowOf({ id: run.id, title: run.title || run.tools.map(toolName).join(', '), href: address(`runs/${encodeURIComponent(run.id)}`), mark: STATUS[run.status] || run.status, kind: state }, line);
}

const firstOf = ({ rows, total }) => (total > rows.length ? `${numeral(rows.length)} of ${numeral(total)}` : '');
const few = { most: 5 };
const waiting = makeList('waiting', 'runs/waiting', { ...few, row: (one) => questionRow(one, true), told: firstOf });
const runs = makeList('runs', 'runs/list', { ...few, row: runRow, told: (answer) => (answer.total ? firstOf(answer) : 'No workflow has run in the last day.') });
place('runs', 'h2').before(element('a', 'All runs', { className: 'all', href: address('runs') }));
find('connect').append(...pasted());
if (connects) find('connect').append(connects);
place('waiting', 'h2').before(element('a', 'All that waits', { className: 'all', href: address('runs') }));

function showWaiting() {
  showWaits(waiting.total());
  find('waiting').hidden = waiting.total() === 0;
}

watch(['approval', 'workflow'], async () => {
  await Promise.all([waiting.refresh(), runs.refresh()]);
  showWaiting();
});
showWaiting();
if (facts.contents) showContents(facts.contents);
else painted().then(() => ask('home/contents')).then(showContents).catch((error) => { place('contents', 'ul').replaceChildren(element('li', error.message, { className: 'note' })); });
