// The panel of a task: what it was called with, and what it gave.
function makeTaskPanel(runPath) {
  const panel = find('reader');
  let shown = null;
  let asked = 0;
  let wasStatus = '';

  function text(name, part, more) {
    const box = element('pre', part.text, { dir: 'auto', tabIndex: 0 });
    box.setAttribute('role', 'region');
    box.setAttribute('aria-label', name);
    const parts = [element('h3', name), box];
    if (part.text.length < part.characters && more) {
      const button = element('button', `Show all ${numeral(part.characters)} characters`, { className: 'act', type: 'button' });
      button.addEventListener('click', () => load(true));
      parts.push(button);
    } else if (part.text.length < part.characters) {
      parts.push(element('p', `These are the first of ${numeral(part.characters)} characters.`, { className: 'note' }));
    }
    return parts;
  }

  function partsOf(task, facts, isWhole) {
    const parts = [];
    if (task.error) parts.push(element('h3', 'Error'), element('p', task.error, { dir: 'auto' }));
    if (facts.intent) parts.push(element('h3', 'Intent'), element('p', facts.intent, { dir: 'auto' }));
    if ('result' in facts) parts.push(...text('Result', facts.result, !isWhole));
    parts.push(...text('Arguments', facts.arguments, !isWhole));
    if (facts.written.text !== facts.arguments.text) parts.push(...text('Arguments as they were written', facts.written, !isWhole));
    if (facts.code) parts.push(...text('Code', { text: facts.code, characters: facts.code.length }));
    return parts;
  }

  async function load(isWhole) {
    const mine = ++asked;
    const task = shown;
    try {
      const facts = await ask(`${runPath}/tasks/${encodeURIComponent(task.id)}`, isWhole ? { whole: 1 } : {});
      if (mine === asked) find('reader-parts').replaceChildren(...partsOf(task, facts, isWhole));
    } catch (error) {
      if (mine === asked) find('reader-parts').replaceChildren(element('p', error.message, { className: 'note' }));
    }
  }

  return {
    isOpen: () => !panel.hidden,
    // Shows the task as it is now. What it gave is asked for when its state is another one.
    show(task, isNew) {
      shown = task;
      const tries = task.tries > 1 ? `, try ${task.tries}` : '';
      find('reader-name').textContent = task.id;
      const lasts = task.status === 'running' ? serverNow() - task.began : task.ms / 1000;
      find('reader-line').textContent = `${task.tool === 'code_execution' ? 'code' : task.tool}: ${WORDS[task.status]}${task.began ? `, ${took(lasts)}` : ''}${tries}`;
      if (isNew || task.status !== wasStatus) load(false);
      wasStatus = task.status;
      if (!isNew) return;
      find('reader-parts').replaceChildren();
      panel.hidden = false;
      document.body.classList.add('reading');
      panel.scrollTop = 0;
      panel.focus({ preventScroll: true });
    },
    close() {
      asked++;
      panel.hidden = true;
      document.body.classList.remove('reading');
    },
  };
}
