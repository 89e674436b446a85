// The page: all runs that are kept, the newest first, and more of them on demand.
const STEP = 100;
let shown = facts;
let most = 50;

function row(run) {
  const made = element('tr');
  made.dataset.id = run.id;
  const name = element('td');
  name.append(element('a', run.id, { href: address(`runs/${encodeURIComponent(run.id)}`) }));
  if (run.title) name.append(' ', element('bdi', run.title));
  const state = element('td');
  state.append(statusChip(run.status));
  if (run.waits_for) state.append(run.waits_for === 'layer' ? ' after a layer' : ' for an approval');
  const tasks = `${run.done} of ${run.tasks}${run.failed ? `, ${run.failed} failed` : ''}`;
  const began = element('td');
  began.append(timeOf(run.began));
  const lasts = element('td', '', { className: 'number' });
  made.append(name, state, element('td', tasks, { className: 'number' }), element('td', run.tools.join(', '), { dir: 'auto' }), began, lasts);
  return made;
}

function tick() {
  for (const [at, run] of shown.runs.entries()) find('rows').children[at].lastChild.textContent = took((run.ended || serverNow()) - run.began);
}

function take(answer) {
  shown = answer;
  const focused = document.activeElement?.closest('#rows tr')?.dataset.id;
  find('rows').replaceChildren(...answer.runs.map(row));
  if (focused) [...find('rows').children].find((one) => one.dataset.id === focused)?.querySelector('a').focus({ preventScroll: true });
  document.querySelector('table').hidden = answer.total === 0;
  find('counts').textContent =
    answer.total === 0
      ? 'No workflow has run in the last day.'
      : answer.runs.length < answer.total
        ? `The ${numeral(answer.runs.length)} newest of ${plural(answer.total, 'run')}`
        : plural(answer.total, 'run');
  find('further').hidden = answer.runs.length >= answer.total;
  tick();
}

const look = watch(['workflow'], 'runs/list', take, () => ({ most }));
find('further').addEventListener('click', () => {
  most = Math.max(most, shown.runs.length) + STEP;
  look();
});
setInterval(tick, 1000);
take(facts);
