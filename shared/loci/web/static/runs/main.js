// What waits for a person, the oldest first, and all runs that are kept, the newest first.
function runOf(run) {
  const state = { running: '', complete: 'strong', error: 'bad', aborted: 'bad' }[run.status] ?? 'asks';
  const waits = run.waits_for ? (run.waits_for === 'layer' ? ' after a layer' : ' for an approval') : '';
  const parts = [`${run.done} of ${plural(run.tasks, 'task')}`, run.failed && `${run.failed} failed`, run.tools.join(', ')];
  const times = filled('div', ['began ', timeOf(run.began), ', took ', element('span', took((run.ended || serverNow()) - run.began), { className: 'took' }), ...(run.waits_since ? [', waits since ', timeOf(run.waits_since)] : [])], { className: 'under' });
  const title = run.title ? `${run.id}: ${run.title}` : run.id;
  const href = address(`runs/${encodeURIComponent(run.id)}`);
  return rowOf({ id: run.id, title, href, mark: `${STATUS[run.status] || run.status}${waits}`, kind: state }, parts.filter(Boolean).join(', '), times);
}

const waiting = makeList('waiting', 'runs/waiting', { row: questionRow, told: ({ total }) => (total ? `${plural(total, 'question')} ${total === 1 ? 'waits' : 'wait'} for an answer.` : 'Nothing waits for you.') });
const runs = makeList('runs', 'runs/list', { row: runOf, told: (answer) => (answer.total ? counted(answer, 'run') : 'No workflow has run in the last day.') });

watch(
  ['approval', 'workflow'],
  async () => {
    await Promise.all([waiting.refresh(), document.hidden || runs.refresh()]);
    showWaits(waiting.total());
    document.title = `${waiting.total() ? `(${waiting.total()}) ` : ''}Runs - Loci`;
  },
  true,
);
setInterval(() => {
  for (const [at, one] of runs.rows().entries()) if (!one.ended) runs.elements()[at].querySelector('.took').textContent = took(serverNow() - one.began);
}, 1000);
