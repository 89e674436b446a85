// The page: what waits, the oldest first. What was answered stays, with its answer, until the page is loaded again.
const STEP = 50;
const cards = new Map();
let most = STEP;

function tell(number) {
  document.title = `${number > 0 ? `(${number}) ` : ''}Approvals - Loci`;
  find('counts').textContent =
    number === 0 ? 'Nothing waits for you.' : `${plural(number, 'question')} ${number === 1 ? 'waits' : 'wait'} for an answer.`;
}

function take(answer) {
  const open = new Set(answer.waiting.map((one) => one.checkpoint_id));
  for (const [id, one] of cards) if (!open.has(id)) one.gone();
  for (const asked of answer.waiting) {
    if (cards.has(asked.checkpoint_id)) continue;
    const made = makeQuestion(asked, () => look());
    cards.set(asked.checkpoint_id, made);
    find('waiting').append(made.card);
  }
  const settled = answer.waiting.filter((one) => cards.get(one.checkpoint_id).isSettled()).length;
  tell(answer.total - settled);
  find('further').hidden = answer.waiting.length >= answer.total;
}

const look = watch(['approval', 'workflow'], 'approvals/list', take, () => ({ most }), tell);
find('further').addEventListener('click', () => {
  most += STEP;
  look();
});
take(facts);
// The page comes with as many as it has room for. The others come when these are painted.
if (facts.waiting.length < Math.min(facts.total, most)) painted().then(() => look());
