// A run of a workflow as it goes: its tasks, what it waits for, and the way to the page where a person answers.
const AGAIN_MS = 2000;
const STATES = { ...STATUS, layer_complete: 'waiting', pending_approval: 'waiting', approval_required: 'waiting', success: 'done', waiting: 'waits', skipped: 'left out' };
const COLOURS = { complete: 'complete', success: 'complete', error: 'bad', aborted: 'bad', running: 'running', layer_complete: 'paused', paused: 'paused' };
const chip = (status) => element('span', STATES[status] || status, { className: `match ${COLOURS[status] || ''}` });
let next = 0;

function taskOf(task) {
  const fault = typeof task.error === 'string' ? task.error : task.error?.message;
  const time = task.duration_ms > 0 && took(task.duration_ms / 1000);
  const name = [task.taskId || task.id, task.tool && toolName(task.tool)].filter(Boolean).join(', ');
  return filled('li', [filled('h3', [element('span', name, { dir: 'auto' }), chip(task.status), time && element('span', time, { className: 'under' })]), fault && note(fault, 'bad')]);
}

function questionOf({ checkpoint, approval_url: page, checkpoint_id: id }) {
  if (!checkpoint && !page) return null;
  const call = checkpoint && [
    filled('p', ['Waits for your approval: ', element('b', toolName(checkpoint.tool || checkpoint.task))]),
    checkpoint.reason && note(checkpoint.reason),
    element('pre', checkpoint.code || JSON.stringify(checkpoint.arguments, null, 2), { dir: 'auto', tabIndex: 0 }),
  ];
  return filled('section', [...(call || [note('It waits for a person.')]), page && button('Answer on Loci’s page', () => openPage(page))], { className: 'question', id: id || '' });
}

function show(run) {
  clearTimeout(next);
  if (Array.isArray(run.workflows)) return showParts(...run.workflows.map((one) => taskOf({ ...one, id: one.title || one.workflow_id })));
  const tasks = run.tasks || [...(run.layer_results || []), ...(run.next_layer || []).map((one) => ({ ...one, status: 'waiting' }))];
  const done = tasks.length ? [] : Object.keys(run.results || {}).map((id) => ({ id, status: 'success' }));
  const time = run.metrics?.total_time_ms !== undefined && `${took(run.metrics.total_time_ms / 1000)}`;
  const page = run.workflow_id && button('Open in Loci', () => openPage(pageOf(`runs/${encodeURIComponent(run.workflow_id)}`)), { className: 'plain' });
  showParts(
    filled('h2', ['Run ', chip(run.status), time && element('span', time, { className: 'under' }), page]),
    questionOf(run),
    filled('ol', [...tasks, ...done].map(taskOf), { className: 'rows' }),
  );
  const isOver = ['complete', 'aborted', 'error'].includes(run.status);
  if (run.workflow_id && !isOver) next = setTimeout(() => callTool('pml_workflow_status', { workflow_id: run.workflow_id }).then(show, (error) => say(error.message)), AGAIN_MS);
}
