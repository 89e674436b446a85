// What was learned: code that worked for an intent, how often it does, its versions; and a way to forget it.
const panel = find('one');
let asked = 0;
let opened = null;
let cameFrom = null;

const hrefOf = (id) => `#${encodeURIComponent(id)}`;

function rateOf(one) {
  const made = element('div', undefined, { className: 'rate' });
  const bar = element('span', undefined, { className: one.is_proven ? 'bar' : 'bar unproven' });
  const part = element('i');
  part.style.setProperty('--part', `${Math.round(100 * one.success_rate)}%`);
  bar.append(part);
  bar.setAttribute('aria-hidden', 'true');
  const runs = `${numeral(one.worked)} of ${plural(one.runs, 'run')} worked`;
  made.append(bar, element('span', `${runs}: a success rate of at least ${one.success_rate.toFixed(2)}${one.is_proven ? '' : ', unproven'}; used again ${plural(one.reuse_count, 'time')}, last ${moment(one.used)}`));
  return made;
}

function rowOf(one) {
  const item = element('li');
  item.dataset.id = one.id;
  const heading = element('h2');
  const link = element('a', undefined, { href: hrefOf(one.id) });
  link.append(element('bdi', one.intent || one.id));
  heading.append(link);
  if (one.version_count > 1) heading.append(element('span', plural(one.version_count, 'version'), { className: 'match' }));
  item.append(heading, rateOf(one));
  if (one.tools_used.length) item.append(element('div', `with ${one.tools_used.join(', ')}`, { className: 'under', dir: 'auto' }));
  return item;
}

function list(answer, isMore) {
  const rows = find('list');
  if (!isMore) rows.replaceChildren();
  // What was used meanwhile moved up: it may come once more.
  const known = new Set([...rows.children].map((one) => one.dataset.id));
  rows.append(...answer.capabilities.filter((one) => !known.has(one.id)).map(rowOf));
  const number = answer.total === 1 ? '1 capability' : `${numeral(answer.total)} capabilities`;
  find('counts').textContent = answer.total ? `${number}, those that were used last first` : 'Nothing is learned yet. Code that pml_execute_code runs with an intent is learned if it works.';
  find('further').hidden = rows.children.length >= answer.total || (isMore && answer.capabilities.length === 0);
  mark();
}

async function further() {
  const from = find('list').children.length;
  try {
    list(await ask('learned/list', { from }), true);
    find('list').children[from]?.querySelector('a').focus();
    say(`${numeral(find('list').children.length)} are shown`);
  } catch (error) {
    find('counts').textContent = error.message;
    say(error.message);
  }
}

function mark() {
  for (const one of find('list').children) one.classList.toggle('open', opened !== null && one.dataset.id === opened.split('.')[0]);
}

function versionOf(one, shown) {
  const item = element('li');
  const button = element('button', `Version ${one.number}${one.is_offered ? ' (offered)' : ''}, learned ${moment(one.learned)}`);
  button.setAttribute('aria-pressed', String(one.number === shown));
  button.addEventListener('click', () => {
    history.replaceState(null, '', hrefOf(one.id));
    follow();
  });
  item.append(button, rateOf(one));
  return item;
}

async function open(id) {
  const mine = ++asked;
  const wasOpen = !panel.hidden;
  opened = id;
  mark();
  find('trouble').hidden = true;
  panel.hidden = false;
  document.body.classList.add('reading');
  if (!wasOpen) panel.focus({ preventScroll: true });
  try {
    const one = await ask(`learned/${encodeURIComponent(id)}`);
    if (mine !== asked) return;
    find('intent').textContent = one.intent || one.id;
    find('line').textContent = `${one.id}, version ${one.version}`;
    const more = [];
    if (one.other_intents.length) more.push(element('p', `Also run for: ${one.other_intents.join('; ')}`, { dir: 'auto' }));
    if (one.tools_used.length) more.push(element('p', `Tools: ${one.tools_used.join(', ')}`, { dir: 'auto' }));
    if (one.needs.length) more.push(element('p', `Needs in its context: ${one.needs.join(', ')}`, { dir: 'auto' }));
    find('more').replaceChildren(...more);
    find('code').textContent = one.code;
    const pressed = document.activeElement?.closest('#versions li');
    const at = pressed ? [...find('versions').children].indexOf(pressed) : -1;
    find('versions').replaceChildren(...one.versions.map((two) => versionOf(two, one.version)));
    find('versions').children[at]?.querySelector('button').focus();
    say(one.intent);
  } catch (error) {
    if (mine === asked) trouble(error);
  }
}

function trouble(error) {
  find('trouble').textContent = error.message;
  find('trouble').hidden = false;
}

function close() {
  asked++;
  opened = null;
  panel.hidden = true;
  document.body.classList.remove('reading');
  mark();
  (cameFrom?.isConnected ? cameFrom : find('content')).focus();
}

function follow() {
  const id = /^#(cap_[0-9a-f]+(?:\.\d+)?)$/.exec(location.hash)?.[1];
  if (id) open(id);
  else if (!panel.hidden) close();
}

function leave() {
  history.pushState(null, '', location.pathname + location.search);
  follow();
}

find('delete').addEventListener('click', async () => {
  const id = opened.split('.')[0];
  if (!(await sure(`Delete “${find('intent').textContent}” with all its versions? Searches no longer find it.`, 'Delete it'))) return;
  try {
    const answer = await ask(`learned/${id}/delete`, {}, {});
    leave();
    list(answer);
    find('content').focus();
    say('Deleted');
  } catch (error) {
    trouble(error);
  }
});
addEventListener('hashchange', follow);
addEventListener('click', (event) => {
  const link = event.target.closest('#list a');
  if (link) cameFrom = link;
});
addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || panel.hidden || document.querySelector('dialog')) return;
  leave();
  event.preventDefault();
});
find('close').addEventListener('click', leave);
find('further').addEventListener('click', further);
list(facts);
follow();
