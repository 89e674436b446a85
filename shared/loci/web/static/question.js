// A question that a workflow asks, and the form with which a person answers it.
function makeQuestion(asked, changed) {
  const card = element('article', undefined, { className: 'card question' });
  const isLayer = asked.kind === 'layer';
  const isCall = asked.kind === 'call';
  const said = element('p', '', { className: 'said', tabIndex: -1 });
  said.setAttribute('role', 'status');
  let isSettled = false;
  let isAnswering = false;

  function block(name, text) {
    const shown = element('pre', text, { tabIndex: 0, dir: 'auto' });
    shown.setAttribute('role', 'region');
    shown.setAttribute('aria-label', `${name} of ${asked.task}`);
    return [element('h3', name), shown];
  }

  function heading() {
    const made = element('h2');
    if (isLayer) made.append('A layer has ended');
    else {
      made.append(isCall ? 'A client' : element('bdi', asked.task), asked.code ? ' wants to run code' : ' wants to call ');
      if (!asked.code) made.append(element('code', asked.tool));
    }
    return made;
  }

  function who() {
    const made = element('p', `Asked by ${asked.asked_by}, `, { className: 'who' });
    made.append(timeOf(asked.since));
    if (isCall) return made;
    made.append(', in ');
    const link = element('a', asked.workflow_id, { href: address(`runs/${encodeURIComponent(asked.workflow_id)}`) });
    made.append(link);
    return made;
  }

  function ownWords(says) {
    const made = element('details', undefined, { open: true });
    const quote = element('blockquote');
    if (says.title) quote.append(element('p', says.title, { dir: 'auto' }));
    if (says.description) quote.append(element('p', says.description, { dir: 'auto' }));
    if (says.hints.length > 0) {
      const hints = element('ul');
      hints.append(...says.hints.map((one) => element('li', one)));
      quote.append(hints);
    }
    if (says.change) quote.append(...changeOf(says.change));
    const warning = element('p', 'These are the tool’s own words: nobody has checked them.', { className: 'note' });
    made.append(element('summary', 'What the tool says about itself'), warning, quote);
    return made;
  }

  function body() {
    const parts = [];
    const reason = isLayer
      ? `Next: ${asked.next.join(', ') || 'the end'}.`
      : `Why it asks: ${asked.reason}.${asked.only_human ? ' Only a person may answer.' : ''}`;
    parts.push(element('p', reason, { dir: 'auto' }), who());
    if (asked.title) parts.push(element('p', `It is for: ${asked.title}`, { dir: 'auto' }));
    if (asked.intent) parts.push(element('p', `It says: ${asked.intent}`, { dir: 'auto' }));
    if (!isLayer) parts.push(...block('Arguments', asked.arguments));
    if (asked.code) parts.push(...block('Code', asked.code));
    if (asked.before.length > 0) {
      const before = asked.before.map((one) => `${one.tool} (${one.outcome})`).join(', ');
      parts.push(element('p', `Before it: ${before}`, { dir: 'auto', className: 'note' }));
    }
    if (asked.is_cut && !isCall) {
      const cut = element('p', 'This is only the beginning: ', { className: 'note' });
      cut.append(element('a', 'see all of it', { href: `${address(`runs/${asked.workflow_id}`)}#${encodeURIComponent(asked.task)}` }));
      parts.push(cut);
    }
    if (asked.says) parts.push(ownWords(asked.says));
    return parts;
  }

  function settle(text, focus) {
    if (isSettled) return;
    isSettled = true;
    // It keeps its place: else the next question would come under the pointer, and a second click would answer that.
    card.style.minHeight = `${card.getBoundingClientRect().height}px`;
    said.textContent = text;
    const link = card.querySelector('.who');
    card.replaceChildren(card.querySelector('h2'), said, link);
    if (focus) said.focus({ preventScroll: true });
    else say(text);
  }

  function closedText(answer) {
    const decision = answer.decision;
    if (isCall) return 'This question is answered already, or it has expired.';
    if (!decision) return `This question is closed: the workflow ${statusSaid(answer.status)}.`;
    const by = decision.by ? ` by ${decision.by}` : '';
    return `This question is answered already: ${decision.what}${by}${decision.reason ? `, “${decision.reason}”` : ''}.`;
  }

  async function answer(approved) {
    const buttons = [...card.querySelectorAll('button')];
    for (const one of buttons) one.disabled = true;
    said.textContent = '';
    isAnswering = true;
    try {
      const note = card.querySelector('input').value;
      const path = `approvals/${encodeURIComponent(asked.workflow_id)}`;
      await asPerson((proof) => ask(path, {}, { checkpoint_id: asked.checkpoint_id, approved, note }, proof));
      const approvedText = isCall ? 'Approved: this call goes through once.' : 'Approved: the workflow goes on.';
      settle(approved ? approvedText : isLayer ? 'Stopped.' : 'Rejected: it does not run.', true);
    } catch (error) {
      if (error.answer?.error?.code === 'CHECKPOINT_CLOSED') settle(closedText(error.answer), true);
      else {
        said.textContent = error.message;
        for (const one of buttons) one.disabled = false;
      }
    }
    isAnswering = false;
    changed();
  }

  function form() {
    const made = element('form', undefined, { className: 'answer' });
    const label = element('label', 'Note, kept with the answer');
    label.append(element('input', undefined, { maxLength: 2000, autocomplete: 'off' }));
    const yes = element('button', isLayer ? 'Go on' : 'Approve', { type: 'button', className: 'act first' });
    const no = element('button', isLayer ? 'Stop' : 'Reject', { type: 'button', className: 'act' });
    yes.addEventListener('click', () => answer(true));
    no.addEventListener('click', () => answer(false));
    // Enter in the note must not answer.
    made.addEventListener('submit', (event) => event.preventDefault());
    made.append(label, yes, no);
    return made;
  }

  card.append(heading(), ...body(), form(), said);
  card.dataset.id = asked.checkpoint_id;

  return {
    card,
    isSettled: () => isSettled,
    // Somebody answered it elsewhere: say how.
    async gone() {
      if (isSettled || isAnswering) return;
      const run = await ask(`runs/${encodeURIComponent(asked.workflow_id)}/state`).catch(() => null);
      const decision = run && run.decisions.find((one) => one.checkpoint === asked.checkpoint_id);
      settle(closedText({ decision, status: run ? run.status : 'gone' }), card.contains(document.activeElement));
    },
  };
}
