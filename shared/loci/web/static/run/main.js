// One run as it is now: what it asks, its tasks, and what was answered. The address says which task is open.
const runPath = `runs/${encodeURIComponent(facts.id)}`;
const drawPicture = makePicture();
let run = facts;
let whole = null; // the task of which all is shown

const openTask = () => run.plan.find((one) => `#${encodeURIComponent(one.id)}` === location.hash);

function beginning(name, part, isWhole) {
  const parts = longText(name, part.text);
  const isCut = part.text.length < part.characters;
  if (isCut && !isWhole) parts.push(button(`Show all ${numeral(part.characters)} characters`, showAll));
  else if (isCut) parts.push(note(`These are the first of ${numeral(part.characters)} characters.`));
  return parts;
}

async function openedTask() {
  const task = openTask();
  if (!task) throw new Error('The workflow has no such task.');
  const isWhole = whole === task.id;
  const told = await ask(`${runPath}/tasks/${encodeURIComponent(task.id)}`, isWhole ? { whole: 1 } : {});
  const parts = [];
  if (task.before) parts.push(note(task.before));
  if (task.error) parts.push(element('h3', 'Error'), element('p', task.error, { dir: 'auto' }));
  if (told.intent) parts.push(element('h3', 'Intent'), element('p', told.intent, { dir: 'auto' }));
  if ('result' in told) parts.push(...beginning('Result', told.result, isWhole));
  parts.push(...beginning('Arguments', told.arguments, isWhole));
  if (told.written.text !== told.arguments.text) parts.push(...beginning('Arguments as they were written', told.written, isWhole));
  if (told.code) parts.push(...longText('Code', told.code));
  const tries = task.tries > 1 ? `, try ${task.tries}` : '';
  return { title: task.id, line: `${toolOf(task)}: ${stateOf(run, task)}${tries}`, parts };
}

const detail = makeDetail([{ pattern: /^#(.+)$/, open: openedTask }]);

function showAll() {
  whole = openTask()?.id;
  detail.refresh();
}

async function abort() {
  const send = (value) => ask(`${runPath}/abort`, {}, { value });
  if (!(await confirmed({ question: 'Abort this run?', yes: 'Abort it', no: 'Let it run', field: 'Why, kept with the run', send }))) return;
  find('content').focus();
  look();
}

const stop = button('Abort this run', abort, { id: 'abort' });

function draw() {
  drawPicture(run);
  const failed = run.failed ? `, ${run.failed} failed` : '';
  const told = ` ${run.done} of ${plural(run.tasks, 'task')}${failed}; ${took((run.ended || serverNow()) - run.began)}; begun by ${run.asked_by}, `;
  const chip = element('span', STATUS[run.status] || run.status, { className: `match ${run.status}`, id: 'status' });
  const parts = [chip, told, timeOf(run.began), ...(run.title ? [' for ', element('bdi', run.title)] : [])];
  if (run.retry?.length) parts.push(`. Your agent can run ${run.retry.join(', ')} again: pml_continue with retry`);
  if (find('counts').textContent !== parts.map((one) => one.textContent ?? one).join('')) find('counts').replaceChildren(...parts);
}

function answerOf(one) {
  const why = one.reason ? `, “${one.reason}”` : '';
  return rowOf({ id: one.at, title: `${one.what}${one.by ? ` by ${one.by}` : ''}${why}` }, filled('div', [timeOf(one.at)], { className: 'under' }));
}

function take(answer) {
  const before = JSON.stringify(openTask() ?? null);
  run = answer;
  document.title = `${STATUS[run.status] || run.status}: ${run.id} - Loci`;
  if (run.ended) stop.remove();
  else find('tasks-name').before(stop);
  if (find('asked').firstChild?.dataset.id !== run.checkpoint?.id) find('asked').replaceChildren(...(run.checkpoint ? [questionRow(run.checkpoint)] : []));
  find('answers').replaceChildren(...run.decisions.map(answerOf));
  find('answers').parentNode.hidden = run.decisions.length === 0;
  draw();
  if (JSON.stringify(openTask() ?? null) !== before) detail.refresh();
}

let seen = facts.tag;
const look = facts.ended
  ? () => {}
  : watch(['workflow', 'approval'], async () => {
      const answer = await ask(`${runPath}/state`, { seen });
      if (!answer.same) take(answer);
      if (!answer.same) showWaits(answer.waits);
      seen = answer.same ? seen : answer.tag;
      return !run.ended;
    });
addEventListener('hashchange', draw);
setInterval(() => {
  if (!run.ended && !document.hidden) draw();
}, 1000);
take(facts);
detail.follow();
draw();
