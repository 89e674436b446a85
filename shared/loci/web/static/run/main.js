// The page: one run, as it is now or as it was. The address says which task is open.
const runPath = `runs/${encodeURIComponent(facts.id)}`;
const picture = makePicture();
const panel = makeTaskPanel(runPath);
let run = facts;
let question = null;
const replay = makeReplay(draw);

const openTask = () => run.plan.find((one) => `#${encodeURIComponent(one.id)}` === location.hash);

function draw() {
  picture.show(run, replay.moment());
  const failed = run.failed ? `, ${run.failed} failed` : '';
  const told = ` ${run.done} of ${plural(run.tasks, 'task')}${failed}; ${took((run.ended || serverNow()) - run.began)}; begun by ${run.asked_by}, `;
  const title = run.title ? [' for ', element('bdi', run.title)] : [];
  find('counts').replaceChildren(statusChip(run.status), told, timeOf(run.began), ...title);
}

function showQuestion() {
  const asked = run.checkpoint;
  if (question && (!asked || question.card.dataset.id !== asked.checkpoint_id)) question.gone();
  if (!asked || (question && question.card.dataset.id === asked.checkpoint_id)) return;
  question = makeQuestion(asked, () => look());
  find('asked').replaceChildren(question.card);
}

function take(answer) {
  run = answer;
  document.title = `${STATUS[run.status] || run.status}: ${run.id} - Loci`;
  find('stop').hidden = Boolean(run.ended);
  showQuestion();
  replay.take(run);
  draw();
  if (panel.isOpen() && openTask()) panel.show(openTask());
  return !run.ended;
}

function follow() {
  const task = openTask();
  if (task) panel.show(task, true);
  else panel.close();
  draw();
}

function leave() {
  const task = openTask();
  history.pushState(null, '', location.pathname + location.search);
  follow();
  if (task) picture.focus(task.id);
}

async function abort() {
  find('aborts').disabled = true;
  try {
    await ask(`${runPath}/abort`, {}, { reason: find('reason').value });
    find('aborted').textContent = 'Aborted.';
    find('content').focus();
  } catch (error) {
    find('aborted').textContent = error.message;
    find('aborts').disabled = false;
  }
  look();
}

const look = facts.ended ? () => {} : watch(['workflow', 'approval'], `${runPath}/state`, take);
find('abort').addEventListener('submit', (event) => event.preventDefault());
find('aborts').addEventListener('click', abort);
find('close').addEventListener('click', leave);
addEventListener('hashchange', follow);
addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && panel.isOpen()) leave();
});
setInterval(() => {
  if (!run.ended && !document.hidden) draw();
}, 1000);
take(facts);
if (openTask()) follow();
