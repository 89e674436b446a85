// A server: how its calls went, its rules, a login, and turning it off. Rules and logins are a person's to decide.
const pinned = () => (facts.asksPin ? { field: 'Your PIN', type: 'password' } : {});

async function changeRules(server, change, question, yes) {
  const { allow, deny, approve, disabled } = { ...server, ...change };
  const send = (value) => ask('tools/rules', {}, { server: server.name, allow, deny, approve, disabled, value });
  if (!(await confirmed({ question, yes, no: 'Cancel', ...pinned(), send }))) return;
  await servers.refresh();
  await detail.refresh();
  say(`${server.name}: saved`);
}

function dayOf({ day }) {
  if (!day.calls) return [note('No calls in the last day.')];
  const series = [
    { name: 'worked', kind: 'good', values: day.worked_by_hour },
    { name: 'failed', kind: 'bad', values: day.failed_by_hour },
  ];
  return [makeChart({ title: 'Calls', until: new Date().toISOString(), series, by: BY_HOUR }), note(`Half of them took at most ${numeral(day.p50)} ms.`)];
}

const RULES = {
  allow: 'May be called (empty: everything)',
  deny: 'May not be called',
  approve: 'A person approves each call',
};

function rulesForm(server) {
  const areas = Object.entries(RULES).map(([rule, text]) => [rule, element('textarea', server[rule].join('\n'), { rows: 2, spellcheck: false, name: rule }), text]);
  const labels = areas.map(([, area, text]) => filled('label', [text, area]));
  const form = filled('form', [...labels, element('button', 'Save', { className: 'act' })], { className: 'rules' });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const lines = Object.fromEntries(areas.map(([rule, area]) => [rule, area.value.split('\n').map((one) => one.trim()).filter(Boolean)]));
    changeRules(server, lines, `Change the rules for ${server.name}?`, 'Save');
  });
  return [element('h3', 'Rules'), note('One pattern a line, such as read_*, of the names of its tools.'), form];
}

async function logIn(server, place) {
  let where = '';
  const send = async (value) => {
    where = (await ask('tools/login', {}, { server: server.name, value })).open;
  };
  if (!(await confirmed({ question: `Log in to ${server.name}?`, yes: 'Log in', no: 'Cancel', ...pinned(), send }))) return;
  const link = element('a', `Continue at ${new URL(where).host}`, { href: where, target: '_blank', rel: 'noopener noreferrer' });
  place.replaceChildren(link);
  link.focus();
  addEventListener('focus', () => setTimeout(() => servers.refresh().then(() => detail.refresh()), 1500), { once: true });
}

function loginOf(server) {
  if (!server.may_log_in) return [];
  if (!facts.isHere) return [note(`To log in, run at a terminal: loci tools login ${server.name}`)];
  const place = element('p');
  place.append(button(server.login ? 'Log in again' : 'Log in', () => logIn(server, place)));
  return [place];
}

async function openedServer([, name]) {
  const server = servers.rows().find((one) => one.name === name);
  if (!server || name === 'loci') return { title: name, parts: [note('There is no such server.')] };
  const turned = server.disabled
    ? button('Turn on', () => changeRules(server, { disabled: false }, `Turn ${name} on?`, 'Turn on'))
    : button('Turn off', () => changeRules(server, { disabled: true }, `Turn ${name} off? Nothing of it is found or called until you turn it on.`, 'Turn off'), { className: 'act gone' });
  const parts = [
    server.failure && !server.disabled && note(server.failure, 'state error'),
    server.login && note(server.login),
    ...loginOf(server),
    ...dayOf(server),
    ...rulesForm(server),
    element('h3', server.disabled ? 'It is turned off' : 'Turn it off'),
    filled('p', [turned]),
    note(`Its program, address and secrets are changed at a terminal: loci tools add ${name} …`),
  ];
  return { title: name, line: server.server, parts };
}
