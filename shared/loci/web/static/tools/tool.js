// The panel of one tool: what it says about itself, and a form that calls it.
function makeTool(called, accepted) {
  const panel = find('tool');
  const button = find('call');
  let asked = 0;
  let tool = null;
  let read = null;

  function show(one) {
    tool = one;
    find('tool-name').textContent = one.title || one.id;
    find('tool-line').textContent = one.call === one.id ? one.id : `${one.id}, called ${one.call}`;
    const parts = [];
    if (one.denied) parts.push(element('p', `It cannot be called: ${one.denied}`, { className: 'state error', dir: 'auto' }));
    if (one.says) {
      const quoted = element('blockquote');
      quoted.append(element('p', one.says.description, { dir: 'auto' }));
      parts.push(quoted, ...one.says.hints.map((text) => element('p', text, { className: 'note' })));
      if (!one.id.startsWith('loci:') && !one.id.startsWith('pml:')) parts.push(element('p', 'Its server wrote this: it may be untrue.', { className: 'note' }));
    }
    if (one.warning) parts.unshift(element('p', `Take care: ${one.warning}`, { className: 'state error', dir: 'auto' }));
    if (one.says?.change) parts.push(...changeOf(one.says.change), acceptance(one));
    find('tool-says').replaceChildren(...parts);
    find('form').hidden = Boolean(one.denied);
    find('approving').hidden = !one.approval;
    find('approving').querySelector('span').textContent = one.approval ? `I approve this call. A person must: ${one.approval}.` : '';
    find('approved').checked = false;
    read = makeForm(find('fields'), one.schema);
    say(one.id);
  }

  function acceptance(one) {
    const made = element('button', 'Accept this change', { className: 'act', type: 'button' });
    made.addEventListener('click', async () => {
      made.disabled = true;
      const [server, ...rest] = one.id.split(':');
      try {
        const body = { server, tool: rest.join(':'), version: one.says.change.version };
        accepted(await asPerson((proof) => ask('tools/accept', {}, body, proof)));
        say('Accepted');
        show(await ask('tools/tool', { id: one.id }));
        panel.focus({ preventScroll: true });
      } catch (error) {
        made.disabled = false;
        made.after(element('p', error.message, { className: 'state error' }));
      }
    });
    return made;
  }

  async function call(event) {
    event.preventDefault();
    const sent = read && read();
    if (!sent || button.disabled) return;
    const mine = asked;
    button.disabled = true;
    find('result').replaceChildren(element('p', 'Calling …', { className: 'note' }));
    const began = performance.now();
    let parts;
    try {
      const body = { tool: tool.id, arguments: sent, approved: find('approved').checked };
      const answer = await asPerson((proof) => ask('tools/call', {}, body, proof));
      parts = resultOf(answer, Math.round(performance.now() - began));
    } catch (error) {
      parts = [element('p', error.message, { className: 'state error' })];
    }
    button.disabled = false;
    find('approved').checked = false;
    if (mine === asked) find('result').replaceChildren(...parts);
    called();
  }

  find('form').addEventListener('submit', call);

  return {
    isOpen: () => !panel.hidden,
    async open(id) {
      const mine = ++asked;
      tool = read = null;
      find('tool-name').textContent = id;
      find('tool-line').textContent = '';
      find('tool-says').replaceChildren();
      find('result').replaceChildren();
      find('form').hidden = true;
      panel.hidden = false;
      panel.scrollTop = 0;
      document.body.classList.add('reading');
      panel.focus({ preventScroll: true });
      try {
        const one = await ask('tools/tool', { id });
        if (mine === asked) show(one);
      } catch (error) {
        if (mine === asked) find('tool-says').replaceChildren(element('p', error.message, { className: 'state error', dir: 'auto' }));
      }
    },
    close() {
      asked++;
      panel.hidden = true;
      document.body.classList.remove('reading');
    },
  };
}
