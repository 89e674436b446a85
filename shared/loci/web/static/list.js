// A list of the page: the rows that came with it, and more of them when somebody wants them. `name`: of its section, and
// of its facts. `row` makes one, `told` says how many there are, `query` gives what else is asked with, `chosen` those to show
// and in which order, and `drawn` gets the rows and their elements.
function makeList(name, path, { row, told, step = 100, given = facts[name], most = 50, query = () => ({}), chosen = (rows) => rows, drawn = () => {} }) {
  const counts = element('p', undefined, { className: 'counts' });
  const list = element('ul', undefined, { className: 'rows' });
  const more = button('Show more', further, { className: 'step' });
  let shown = given;
  let asked = 0;
  find(name).append(counts, list, more);

  // What had the focus has it again.
  function keepFocus(change) {
    const before = document.activeElement?.closest('li[data-id]');
    const at = before && list.contains(before) ? [...before.querySelectorAll('a, button, summary')].indexOf(document.activeElement) : -1;
    change();
    if (at >= 0) [...list.children].find((one) => one.dataset.id === before.dataset.id)?.querySelectorAll('a, button, summary')[at]?.focus({ preventScroll: true });
  }

  function take(answer) {
    shown = answer;
    const some = chosen(answer.rows);
    keepFocus(() => list.replaceChildren(...some.map(row)));
    counts.textContent = told(answer, some);
    more.hidden = answer.rows.length >= answer.total;
    drawn(some, [...list.children]);
  }

  // True if there is something new.
  async function refresh() {
    const mine = ++asked;
    const answer = await ask(path, { ...query(), most, seen: shown.tag });
    const isNew = !answer.same && mine === asked;
    if (isNew) take(answer);
    return isNew;
  }

  async function further() {
    const from = shown.rows.length;
    most = Math.max(most, from) + step;
    try {
      await refresh();
      list.children[from]?.querySelector('a, button, summary')?.focus();
      say(`${numeral(shown.rows.length)} are shown`);
    } catch (error) {
      counts.textContent = error.message;
    }
  }

  take(given);
  // The page comes with as many as it has room for. The others come when these are painted.
  if (given.rows.length < Math.min(given.total, most)) painted().then(refresh).catch(() => {});
  // Asks for every row that an answer can hold: what sorts or filters needs them.
  async function all() {
    most = 2000;
    if (shown.rows.length < shown.total) await refresh();
  }

  return { refresh, all, again: () => take(shown), total: () => shown.total, rows: () => shown.rows, elements: () => [...list.children] };
}

const counted = (answer, one, many = `${one}s`) =>
  `${answer.rows.length < answer.total ? `The first ${numeral(answer.rows.length)} of ` : ''}${numeral(answer.total)} ${answer.total === 1 ? one : many}`;

// A row: a title that may lead somewhere, a mark and buttons beside it, and lines or elements below it.
function rowOf({ id, title, href, mark, kind = '', acts = [] }, ...parts) {
  const name = filled(href ? 'a' : 'span', [element('bdi', title)], href ? { href, className: 'title' } : {});
  const heading = filled('h3', [name, mark && element('span', mark, { className: `match ${kind}` }), ...acts]);
  const lines = parts.map((one) => (typeof one === 'string' && one ? element('div', one, { className: 'under', dir: 'auto' }) : one));
  const item = filled('li', [heading, ...lines]);
  item.dataset.id = id;
  return item;
}

// A question that waits, with the link to the page on which a person answers it. `isListed`: also with its run.
function questionRow(asked, isListed = false) {
  const why = asked.kind === 'layer' ? `Next: ${asked.next.join(', ') || 'the end'}.` : `Why it asks: ${asked.reason}.`;
  const run = element('a', asked.title || 'the run', { href: address(`runs/${encodeURIComponent(asked.workflow_id)}`), dir: 'auto' });
  const where = isListed && asked.kind !== 'call' && filled('div', ['For ', run], { className: 'under' });
  const who = filled('div', [`Asked by ${asked.asked_by}, `, timeOf(asked.since), `; expires in ${took(Math.max(0, asked.until - serverNow()))}`], { className: 'under', dir: 'auto' });
  return rowOf({ id: asked.id, title: asked.what, href: address(asked.link), mark: isListed ? '' : 'waits for you', kind: 'asks' }, where, why, who);
}
