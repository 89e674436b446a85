// What waits for a person, the oldest first, and the runs that are kept, the newest first. The address has their filter.
const STATES = ['', 'running', 'paused', 'complete', 'error', 'aborted'];
const chosen = () => new URLSearchParams(location.search);
const filterNow = () => ({ state: chosen().get('state') || undefined, text: chosen().get('text') || undefined });
const isFiltered = () => Object.values(filterNow()).some(Boolean);

// Seconds for which a run has worked: until it ended, or began to wait for somebody.
const worked = (run) => Math.max(0, (run.ended || run.waits_since || serverNow()) - run.began);
const ago = (seconds) => (seconds < 60 ? 'just now' : `${took(60 * Math.floor(seconds / 60)).replace(' 0 s', '')} ago`);

function runOf(run) {
  const state = { running: '', complete: 'strong', error: 'bad', aborted: 'bad' }[run.status] ?? 'asks';
  const waits = run.waits_for ? (run.waits_for === 'layer' ? ' after a layer' : ' for an approval') : '';
  const tools = run.tools.map(toolName).join(', ');
  const parts = [run.title && tools, `${run.done} of ${plural(run.tasks, 'task')}${run.failed ? `, ${run.failed} failed` : ''}`];
  const about = filled('div', [parts.filter(Boolean).join(' · '), ' · ', element('span', run.id, { className: 'id' })], { className: 'under' });
  const bar = filled('div', [element('i', undefined, { className: run.status }), run.waits_since && element('i', undefined, { className: 'wait', title: 'It waits for a person' })], { className: 'track' });
  const since = timeOf(run.began);
  since.title = since.textContent;
  const span = filled('div', [bar, element('span', '', { className: 'took' }), ' · began ', since], { className: 'span' });
  return rowOf({ id: run.id, title: run.title || tools, href: address(`runs/${encodeURIComponent(run.id)}`), mark: `${STATUS[run.status] || run.status}${waits}`, kind: state }, `Started by ${run.asked_by}`, about, span);
}

// Times as they are now, and bars of which the longest has the whole width.
function measure(rows, elements) {
  const longest = Math.max(...rows.map(worked), 0.001);
  for (const [at, run] of rows.entries()) {
    const row = elements[at];
    row.querySelector('.track i').style.setProperty('--part', `${(100 * worked(run)) / longest}%`);
    const waited = run.waits_since ? `, waits for ${took(serverNow() - run.waits_since)}` : '';
    row.querySelector('.took').textContent = `${took(worked(run))}${waited}`;
    row.querySelector('time').textContent = ago(serverNow() - run.began);
  }
}

function toldOf(answer) {
  if (!answer.total) return isFiltered() ? 'No run fits.' : 'No workflow has run in the last day.';
  return `${counted(answer, 'run')}${isFiltered() ? (answer.total === 1 ? ' fits' : ' fit') : ''}`;
}

const waiting = makeList('waiting', 'runs/waiting', { row: (one) => questionRow(one, true), told: ({ total }) => (total ? `${plural(total, 'question')} ${total === 1 ? 'waits' : 'wait'} for an answer.` : 'Nothing waits for you.') });
const runs = makeList('runs', 'runs/list', { row: runOf, query: filterNow, told: toldOf, drawn: measure });

const box = find('search');
const states = STATES.map((state) => button(state ? STATUS[state] : 'all', () => filter({ state }), { className: 'chip', value: state }));
find('states').append(...states);
box.value = chosen().get('text') || '';

function press() {
  for (const one of states) one.setAttribute('aria-pressed', one.value === (chosen().get('state') || ''));
}

async function filter(change) {
  const wanted = chosen();
  for (const [name, value] of Object.entries(change)) value ? wanted.set(name, value) : wanted.delete(name);
  history.replaceState(history.state, '', `${location.pathname}${wanted.size ? `?${wanted}` : ''}`);
  press();
  try {
    await runs.refresh();
    say(find('runs').querySelector('.counts').textContent);
  } catch (error) {
    find('runs').querySelector('.counts').textContent = error.message;
  }
}

let typed = 0;
box.addEventListener('input', () => {
  clearTimeout(typed);
  typed = setTimeout(() => filter({ text: box.value.trim() }), 250);
});
find('filter').addEventListener('submit', (event) => event.preventDefault());
press();
watch(
  ['approval', 'workflow'],
  async () => {
    await Promise.all([waiting.refresh(), document.hidden || runs.refresh()]);
    showWaits(waiting.total());
    document.title = `${waiting.total() ? `(${waiting.total()}) ` : ''}Runs - Loci`;
  },
  true,
);
setInterval(() => document.hidden || measure(runs.rows(), runs.elements()), 1000);
