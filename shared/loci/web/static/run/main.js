// One run as it is now: what it asks, its tasks, and what was answered. The address says which task is open, and the view.
const runPath = `runs/${encodeURIComponent(facts.id)}`;
const views = { graph: makePicture(), timeline: makeTimeline() };
const zooms = { graph: 1, timeline: 1 };
const viewNow = () => (new URLSearchParams(location.search).get('as') === 'timeline' ? 'timeline' : 'graph');
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
  return { title: task.id, line: `${toolName(task.tool)}: ${stateOf(run, task)}${tries}`, parts };
}

const detail = makeDetail([{ pattern: /^#(.+)$/, open: openedTask }]);

function showAll() {
  whole = openTask()?.id;
  detail.refresh();
}

async function abort() {
  const send = (value) => ask(`${runPath}/abort`, {}, { value });
  if (!(await confirmed({ question: 'Abort this run?', yes: 'Abort', no: 'Let it run', field: 'Why, kept with the run', send }))) return;
  find('content').focus();
  look();
}

const stop = button('Abort this run', abort, { id: 'abort' });

async function runAgain() {
  const tools = [...new Set(run.plan.map((task) => toolName(task.tool)))];
  const called = `${tools.slice(0, 5).join(', ')}${tools.length > 5 ? ` and ${tools.length - 5} more` : ''}`;
  const question = `Run ${run.tasks === 1 ? 'this task' : `these ${run.tasks} tasks`} again, with the same arguments? Called: ${called}. What needs an approval asks for it anew.`;
  let begun;
  const send = async () => {
    begun = await ask(`${runPath}/again`, {}, {});
  };
  if (await confirmed({ question, yes: 'Run again', no: 'Cancel', send })) location.assign(address(`runs/${begun.id}`, { as: viewNow() === 'timeline' ? 'timeline' : undefined }));
}
const again = button('Run again', runAgain, { id: 'again' });

function draw() {
  const view = views[viewNow()];
  if (find('picture').firstChild !== view.element) find('picture').replaceChildren(view.element);
  view.draw(run, zooms[viewNow()]);
  const parts = [`${run.done} of ${plural(run.tasks, 'task')}${run.failed ? `, ${run.failed} failed` : ''}`, took((run.ended || serverNow()) - run.began)];
  if (run.retry?.length) parts.push(`your agent can run ${run.retry.join(', ')} again: pml_continue with retry`);
  const told = ` ${parts.join(' · ')}`;
  if (find('counts').textContent !== `${STATUS[run.status] || run.status}${told}`) find('counts').replaceChildren(element('span', STATUS[run.status] || run.status, { className: `match ${run.status}`, id: 'status' }), told);
}

const switches = Object.keys(views).map((name) => button(name === 'graph' ? 'Graph' : 'Timeline', () => show(name), { className: 'chip', value: name }));
find('views').append(...switches);

function show(name) {
  const asked = new URLSearchParams(location.search);
  name === 'graph' ? asked.delete('as') : asked.set('as', name);
  history.replaceState(history.state, '', `${location.pathname}${asked.size ? `?${asked}` : ''}${location.hash}`);
  press();
  draw();
}

function press() {
  for (const one of switches) one.setAttribute('aria-pressed', one.value === viewNow());
}

// What is at this place of the picture stays there.
function zoomTo(wanted, at = find('picture').clientWidth / 2) {
  const view = views[viewNow()];
  const before = zooms[viewNow()];
  const zoom = Math.min(view.most, Math.max(view.least, wanted));
  const left = find('picture').scrollLeft;
  zooms[viewNow()] = zoom;
  draw();
  find('picture').scrollLeft = ((left + at) * zoom) / before - at;
}
const ZOOMS = { '-': () => zooms[viewNow()] / 1.4, '+': () => zooms[viewNow()] * 1.4, '=': () => zooms[viewNow()] * 1.4, 0: () => views[viewNow()].fit() };
find('zoom').append(...[['−', '-', 'Zoom out'], ['+', '+', 'Zoom in'], ['Fit', '0', 'Fit all of it']].map(([text, key, title]) => button(text, () => zoomTo(ZOOMS[key]()), { className: 'chip', title: `${title} (${key})`, ariaLabel: title })));
find('picture').addEventListener('keydown', (event) => {
  if (!ZOOMS[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  zoomTo(ZOOMS[event.key]());
});
find('picture').addEventListener('wheel', (event) => {
  if (!event.ctrlKey && !event.metaKey) return;
  event.preventDefault();
  zoomTo(zooms[viewNow()] * Math.exp(-event.deltaY / 300), event.clientX - find('picture').getBoundingClientRect().left);
}, { passive: false });

function answerOf(one) {
  const why = one.reason ? `, “${one.reason}”` : '';
  return rowOf({ id: one.at, title: `${one.what}${one.by ? ` by ${one.by}` : ''}${why}` }, filled('div', [timeOf(one.at)], { className: 'under' }));
}

function take(answer) {
  const before = JSON.stringify(openTask() ?? null);
  run = answer;
  document.title = `${STATUS[run.status] || run.status}: ${document.querySelector('h1').textContent} - Loci`;
  find('acts').replaceChildren(...[run.again && again, !run.ended && stop].filter(Boolean));
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
const origin = [`Started by ${facts.asked_by}, `, timeOf(facts.began), ' · ', facts.id];
if (facts.repeats) origin.push(', which repeats ', element('a', facts.repeats, { href: address(`runs/${encodeURIComponent(facts.repeats)}`) }));
find('origin').append(...origin);
press();
take(facts);
detail.follow();
draw();
