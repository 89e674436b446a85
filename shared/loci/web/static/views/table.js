// The rows of a table: sorted by any column, and the numbers of one as bars.
const isNumber = (value) => value !== null && value !== '' && !Number.isNaN(Number(value));
const written = (value) => (value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));

function show({ columns, rows, ...more }) {
  const isNumeric = columns.map((_, at) => rows.some((row) => row[at] !== null) && rows.every((row) => row[at] === null || isNumber(row[at])));
  let order = { at: null, step: 1 };
  let bars = null;

  function sorted() {
    if (order.at === null) return rows;
    const { at, step } = order;
    const compare = isNumeric[at] ? (one, two) => one - two : (one, two) => written(one).localeCompare(written(two));
    return [...rows].sort((one, two) => (one[at] === null) - (two[at] === null) || step * compare(one[at], two[at]));
  }

  function headOf(column, at) {
    const sort = order.at === at ? (order.step > 0 ? 'ascending' : 'descending') : 'none';
    const name = button(`${column.name}${{ ascending: ' ▲', descending: ' ▼', none: '' }[sort]}`, () => {
      order = { at, step: order.at === at ? -order.step : 1 };
      draw();
    }, { className: 'plain', dir: 'auto', title: column.type });
    const cell = filled('th', [name], { scope: 'col', className: isNumeric[at] ? 'number' : '' });
    cell.setAttribute('aria-sort', sort);
    return cell;
  }

  function tableOf() {
    const body = sorted().map((row) => filled('tr', row.map((value, at) => element('td', written(value), { className: isNumeric[at] ? 'number' : '', dir: 'auto' }))));
    return filled('table', [filled('thead', [filled('tr', columns.map(headOf))]), filled('tbody', body)]);
  }

  function chartOf() {
    const names = columns.findIndex((_, at) => !isNumeric[at]);
    const most = Math.max(...rows.map((row) => Math.abs(row[bars])), 0) || 1;
    const bar = (row, at) => {
      const fill = element('i', undefined, { className: row[bars] < 0 ? 'below' : '' });
      fill.style.width = `${(100 * Math.abs(row[bars])) / most}%`;
      return filled('li', [element('span', names < 0 ? String(at + 1) : written(row[names]), { dir: 'auto' }), filled('div', [fill]), element('b', written(row[bars]))]);
    };
    return filled('ol', sorted().map(bar), { className: 'bars' });
  }

  function draw() {
    const numbers = columns.map((column, at) => ({ name: column.name, at })).filter(({ at }) => isNumeric[at]);
    const choose = [{ name: 'Table', at: null }, ...numbers].map(({ name, at }) => {
      const made = button(name, () => { bars = at; draw(); }, { className: 'chip', dir: 'auto' });
      made.setAttribute('aria-pressed', String(bars === at));
      return made;
    });
    const whole = filled('div', [bars === null ? tableOf() : chartOf()], { className: 'wide', tabIndex: 0 });
    const told = more.truncated ? `The first ${plural(rows.length, 'row')}.` : plural(rows.length, 'row');
    showParts(numbers.length > 0 && rows.length > 1 && filled('div', choose, { className: 'chips' }), whole, note(told));
  }
  draw();
}
