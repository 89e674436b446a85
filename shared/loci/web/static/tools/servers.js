// Servers with their health, their rules and their tools, and one tool with what it says about itself.
const unfolded = new Set();
const changeOf = (change) => [note('Its server changed this since it was first seen, or added it later:'), element('pre', change.difference, { tabIndex: 0, dir: 'auto' })];

function toolRow(one) {
  const title = one.title || one.id.split(':').slice(1).join(':');
  const state = one.denied || (one.approval && `A person approves each call: ${one.approval}`);
  return rowOf(
    { id: one.id, title, href: `#tool/${encodeURIComponent(one.id)}` },
    one.line,
    one.warning && note(`Take care: ${one.warning}`, 'state error'),
    state && note(state, one.denied ? 'state error' : 'state'),
  );
}

function toolsOf(server) {
  const some = [plural(server.tools, 'tool')];
  if (server.denied) some.push(`${server.denied} denied`);
  if (server.to_approve) some.push(`${server.to_approve} to be approved`);
  if (server.warned) some.push(`${server.warned} to look at`);
  const list = element('ul', undefined, { className: 'rows' });
  const made = filled('details', [element('summary', some.join(', ')), list]);
  made.addEventListener('toggle', async () => {
    unfolded[made.open ? 'add' : 'delete'](server.name);
    if (!made.open || list.children.length > 0) return;
    try {
      const answer = await ask(`tools/servers/${encodeURIComponent(server.name)}`);
      list.replaceChildren(...answer.tools.map(toolRow));
      if (answer.total > answer.tools.length) list.append(element('li', `and ${answer.total - answer.tools.length} more`, { className: 'note' }));
      detail.mark();
    } catch (error) {
      list.replaceChildren(element('li', error.message, { className: 'note' }));
    }
  });
  made.open = unfolded.has(server.name);
  return made;
}

async function refreshServer(name) {
  say(`Asking ${name} …`);
  try {
    const { failed } = await ask('tools/ask', {}, { server: name });
    await servers.refresh();
    say(failed || `${name} has answered`);
  } catch (error) {
    say(error.message);
  }
}

function serverRow(server) {
  const [mark, kind] = server.disabled ? ['turned off', ''] : server.failure ? ['failed', 'bad'] : server.is_new ? ['not asked yet', ''] : ['works', 'strong'];
  const isOwn = server.name === 'loci';
  const again = button('Refresh', () => refreshServer(server.name), { className: 'act small', ariaLabel: `Refresh ${server.name}` });
  const rules = ['allow', 'deny', 'approve'].flatMap((rule) => (server[rule] || []).map((one) => `${rule}: ${one}`));
  return rowOf(
    { id: server.name, title: server.name, href: isOwn ? undefined : `#server/${server.name}`, mark, kind, acts: isOwn || server.disabled ? [] : [again] },
    server.server,
    server.failure && !server.disabled && filled('div', [server.failed && timeOf(server.failed), server.failed && ': ', server.failure], { className: 'state error', dir: 'auto' }),
    server.login,
    server.listed && filled('div', ['Listed its tools last at ', timeOf(server.listed)], { className: 'under' }),
    rules.length > 0 && chips('Rules', rules),
    toolsOf(server),
  );
}

function callRow(one) {
  const line = filled('div', [timeOf(one.at), `, ${numeral(one.ms)} ms, by ${one.door}, ${one.who}`], { className: 'under', dir: 'auto' });
  return rowOf({ id: one.id, title: one.tool, mark: one.outcome, kind: one.outcome === 'ok' ? 'strong' : 'bad' }, line);
}

async function accept(one) {
  const [server, ...rest] = one.id.split(':');
  const send = (value) => ask('tools/accept', {}, { server, tool: rest.join(':'), version: one.says.change.version, value });
  if (!(await confirmed({ question: `Accept this change of ${one.id}?`, yes: 'Accept it', no: 'Not now', ...pinned(), send }))) return;
  await Promise.all([servers.refresh(), detail.refresh()]);
  say('Accepted');
}

async function openedTool([, id]) {
  const one = await ask('tools/tool', { id });
  const parts = [one.warning && note(`Take care: ${one.warning}`, 'state error'), one.denied && note(`It cannot be called: ${one.denied}`, 'state error')];
  if (one.approval) parts.push(note(`A person approves each call: ${one.approval}`, 'state'));
  if (one.says) {
    parts.push(filled('blockquote', [element('p', one.says.description, { dir: 'auto' })]), ...one.says.hints.map((text) => note(text)));
    if (!one.id.startsWith('loci:') && !one.id.startsWith('pml:')) parts.push(note('Its server wrote this: it may be untrue.'));
    if (one.says.change) parts.push(...changeOf(one.says.change), button('Accept this change', () => accept(one)));
  }
  parts.push(...longText('Arguments', JSON.stringify(one.schema, null, 2)));
  return { title: one.title || one.id, line: one.call === one.id ? one.id : `${one.id}, called ${one.call}`, parts };
}
