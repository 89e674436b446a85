// The servers with their health, and the last calls.
function makeServers() {
  const opened = new Set();

  function patterns(heading, some) {
    if (some.length === 0) return [];
    const list = element('ul', undefined, { className: 'chips' });
    list.setAttribute('aria-label', heading);
    list.append(...some.map((one) => element('li', `${heading}: ${one}`, { className: 'chip', dir: 'auto' })));
    return [list];
  }

  function toolOf(one) {
    const item = element('li');
    item.append(element('a', one.title || one.id.split(':').slice(1).join(':'), { href: `#tool/${encodeURIComponent(one.id)}`, dir: 'auto' }));
    if (one.line) item.append(element('div', one.line, { className: 'under', dir: 'auto' }));
    if (one.warning) item.append(element('p', `Take care: ${one.warning}`, { className: 'state error', dir: 'auto' }));
    if (one.denied) item.append(element('span', one.denied, { className: 'state error', dir: 'auto' }));
    else if (one.approval) item.append(element('span', `A person approves each call: ${one.approval}`, { className: 'state', dir: 'auto' }));
    return item;
  }

  function toolsOf(server) {
    const made = element('details');
    const some = [plural(server.tools, 'tool')];
    if (server.denied) some.push(`${server.denied} denied`);
    if (server.to_approve) some.push(`${server.to_approve} to be approved`);
    if (server.warned) some.push(`${server.warned} to look at`);
    const list = element('ul');
    made.append(element('summary', some.join(', ')), list);
    made.addEventListener('toggle', async () => {
      opened[made.open ? 'add' : 'delete'](server.name);
      if (!made.open || list.children.length > 0) return;
      try {
        const answer = await ask(`tools/servers/${encodeURIComponent(server.name)}`);
        list.replaceChildren(...answer.tools.map(toolOf));
        if (answer.total > answer.tools.length) list.append(element('li', `and ${answer.total - answer.tools.length} more`, { className: 'note' }));
      } catch (error) {
        list.replaceChildren(element('li', error.message, { className: 'note' }));
      }
    });
    if (opened.has(server.name)) made.open = true;
    return made;
  }

  function askAgain(server) {
    const button = element('button', 'Ask it again', { className: 'act small' });
    button.setAttribute('aria-label', `Ask it again: ${server.name}`);
    button.addEventListener('click', async () => {
      button.disabled = true;
      say(`Asking ${server.name} …`);
      try {
        const answer = await ask('tools/ask', {}, { server: server.name });
        show(answer);
        say(answer.failed ? answer.failed.message : `${server.name} has answered`);
      } catch (error) {
        button.disabled = false;
        say(error.message);
      }
      [...document.querySelectorAll('#servers .act')].find((one) => one.dataset.server === server.name)?.focus();
    });
    button.dataset.server = server.name;
    return button;
  }

  function serverOf(server) {
    const item = element('li', undefined, { className: 'card' });
    const heading = element('h2');
    heading.append(element('bdi', server.name));
    const isOwn = server.name === 'loci';
    const [state, kind] = server.failure ? ['failed', 'fails'] : server.is_new ? ['not asked yet', ''] : ['works', 'works'];
    heading.append(element('span', state, { className: `match ${kind}` }));
    if (!isOwn) heading.append(askAgain(server));
    item.append(heading, element('p', server.server, { className: 'line', dir: 'auto' }));
    if (server.failure) item.append(element('span', `${server.failed ? `${moment(server.failed)}: ` : ''}${server.failure}`, { className: 'state error', dir: 'auto' }));
    if (server.login) item.append(element('p', server.login, { className: 'line', dir: 'auto' }));
    if (server.listed) item.append(element('p', `Listed its tools last at ${moment(server.listed)}`, { className: 'line' }));
    item.append(...patterns('allow', server.allow), ...patterns('deny', server.deny), ...patterns('approve', server.approve), toolsOf(server));
    return item;
  }

  function callOf(one) {
    const row = element('tr');
    const when = element('td');
    when.append(element('time', moment(one.at), { dateTime: one.at }));
    row.append(when, element('td', one.tool, { dir: 'auto', title: one.tool }), element('td', one.outcome, { className: one.outcome === 'ok' ? '' : 'error' }), element('td', `${numeral(one.ms)} ms`, { className: 'number' }), element('td', `${one.door}, ${one.who}`));
    return row;
  }

  function showCalls(calls) {
    find('rows').replaceChildren(...calls.map(callOf));
    find('calls').hidden = calls.length === 0;
    find('calls-note').textContent = calls.length ? 'Without arguments and results' : 'No tool of a server has been called.';
  }

  function show(answer) {
    find('servers').replaceChildren(...answer.servers.map(serverOf));
    const count = answer.total;
    const bad = answer.servers.filter((one) => one.failure).length;
    find('counts').textContent = count ? `${plural(count, 'server')}${bad ? `, ${bad} of which failed` : ''}` : 'There are no servers yet. Add one with: loci tools add';
    showCalls(answer.calls);
  }

  show(facts);
  // The page comes with as many as it has room for. The others come when these are painted.
  async function askAll() {
    try {
      show(await ask('tools/servers'));
    } catch (error) {
      find('counts').textContent = error.message;
    }
  }
  if (facts.servers.length - 1 < facts.total) painted().then(askAll);
  return {
    show,
    async refreshCalls() {
      showCalls((await ask('tools/calls')).calls);
    },
  };
}
