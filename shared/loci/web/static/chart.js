// Bars by day or hour: a figure that says its sum in words, tells the bar under the pointer or the arrow keys, and has a table
// of the same for who cannot see it. `series`: each with a name, the kind of its colour, and its values up to the day or hour
// `until`.
const BY_DAY = { ms: 86_400_000, name: 'day', told: (day) => `${MONTHS[day.getUTCMonth()]} ${day.getUTCDate()}` };
const BY_HOUR = { ms: 3_600_000, name: 'hour', told: (hour) => `${String(hour.getHours()).padStart(2, '0')}:00` };
const BAR = { step: 10, width: 7, height: 100, least: 2 };

function makeChart({ title, until, series, by = BY_DAY }) {
  const days = series[0].values.map((_, at, all) => new Date(Date.parse(until) - (all.length - 1 - at) * by.ms));
  const sums = days.map((_, at) => series.reduce((sum, one) => sum + one.values[at], 0));
  const most = Math.max(...sums);
  if (!most) return null;
  const dayOf = by.told;
  const valuesOf = (at) => series.map((one) => `${numeral(one.values[at])} ${one.name}`).join(', ');
  const total = (one) => one.values.reduce((sum, value) => sum + value, 0);
  const whole = `${series.map((one) => `${numeral(total(one))} ${one.name}`).join(', ')} in ${days.length} ${by.name}s`;
  const told = element('p', whole, { className: 'under' });
  const plot = element('div', undefined, { className: 'plot', tabIndex: 0 });
  let here = null;

  function columnOf(at) {
    const made = drawnElement('g', { class: 'day' });
    made.append(drawnElement('rect', { class: 'back', x: at * BAR.step, y: 0, width: BAR.step, height: BAR.height }));
    let top = BAR.height;
    for (const one of series) {
      const height = one.values[at] && Math.max(BAR.least, (one.values[at] / most) * (BAR.height - BAR.least));
      top -= height;
      if (height) made.append(drawnElement('rect', { class: one.kind, x: at * BAR.step + (BAR.step - BAR.width) / 2, y: top, width: BAR.width, height }));
    }
    made.addEventListener('pointerenter', () => show(at));
    return made;
  }

  function show(at) {
    columns[here]?.classList.remove('here');
    here = at;
    columns[here]?.classList.add('here');
    told.textContent = here === null ? whole : `${dayOf(days[here])}: ${valuesOf(here)}`;
  }

  const columns = days.map((_, at) => columnOf(at));
  const picture = drawnElement('svg', { viewBox: `0 0 ${days.length * BAR.step} ${BAR.height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  picture.append(...columns);
  plot.append(picture);
  plot.setAttribute('role', 'img');
  plot.setAttribute('aria-label', `${title}: ${whole}. The arrow keys tell each ${by.name}.`);
  plot.addEventListener('pointerleave', () => show(null));
  plot.addEventListener('blur', () => show(null));
  plot.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    show(here === null ? days.length - 1 : Math.min(days.length - 1, Math.max(0, here + step)));
    say(told.textContent);
    event.preventDefault();
  });
  const keys = series.map((one) => filled('span', [element('i', undefined, { className: one.kind }), one.name]));
  const ends = filled('div', [element('span', dayOf(days[0])), element('span', `at most ${numeral(most)} ${by.name === 'day' ? 'a day' : 'an hour'}`), element('span', dayOf(days.at(-1)))], { className: 'ends under' });
  const head = filled('tr', [by === BY_DAY ? 'Day' : 'Hour', ...series.map((one) => one.name)].map((name) => element('th', name, { scope: 'col' })));
  const rows = days.map((day, at) => filled('tr', [element('th', dayOf(day), { scope: 'row' }), ...series.map((one) => element('td', numeral(one.values[at])))]));
  const table = filled('table', [element('caption', title), head, ...rows]);
  const caption = filled('figcaption', [element('b', title), ...keys]);
  return filled('figure', [caption, told, plot, ends, filled('div', [table], { className: 'unseen' })], { className: 'chart' });
}
