// The tasks of a run as bars on an axis of time, in the order in which they began. A wait for a person has a colour of its own.
const TICKS = [0, 20, 40, 60, 80];

// When tasks ran, and how far along the axis a time is, in percent. Pauses take at most half of the axis.
function axisOf(run, now) {
  const spans = run.plan.filter((one) => one.began).map((one) => [one.began, one.status === 'running' ? now : one.began + Math.max(0, one.ms) / 1000]);
  const points = [[run.began, 0]];
  let pauses = 0;
  for (const [from, to] of [...spans.sort(([one], [other]) => one - other), [now, now]]) {
    const [last] = points.at(-1);
    if (from > last) points.push([from, 'pause']);
    pauses += Math.max(0, from - last);
    if (to > Math.max(from, last)) points.push([to, 'work']);
  }
  const work = Math.max(0.001, points.at(-1)[0] - run.began - pauses);
  const share = Math.min(1, work / Math.max(pauses, 0.001));
  let length = 0;
  const marks = points.map(([time, kind], at) => ({ time, at: at === 0 ? 0 : (length += (time - points[at - 1][0]) * (kind === 'pause' ? share : 1)) }));
  const between = (one, from, to) => {
    const next = Math.max(1, marks.findIndex((mark) => mark[from] >= one));
    const [before, after] = [marks[next - 1], marks[next] ?? marks[next - 1]];
    const part = after[from] > before[from] ? (one - before[from]) / (after[from] - before[from]) : 0;
    return before[to] + part * (after[to] - before[to]);
  };
  const whole = Math.max(length, 0.001);
  return {
    isShort: share < 0.9 && pauses > 1,
    place: (time) => Math.min(100, Math.max(0, (100 * between(Math.min(time, marks.at(-1).time), 'time', 'at')) / whole)),
    time: (place) => between((place * whole) / 100, 'at', 'time'),
  };
}

// For whom a task waited, and when: answered questions, and the open one. Those after a layer belong to no task.
function waitsOf(run, now) {
  const waits = run.decisions.filter((one) => one.asked).map((one) => ({ task: one.task, from: one.asked, to: one.at }));
  if (run.checkpoint) waits.push({ task: run.checkpoint.task, from: run.checkpoint.since, to: now });
  return waits;
}

function makeTimeline() {
  const whole = element('div', undefined, { id: 'timeline' });
  let lines = new Map();

  function line(task) {
    const name = filled('span', [element('bdi', task.id), ' ', element('small', toolName(task.tool))], { className: 'name', title: `${task.id}, ${toolName(task.tool)}` });
    return filled('a', [name, ' ', element('span', undefined, { className: 'lane' })], { href: `#${encodeURIComponent(task.id)}` });
  }

  function bar(axis, from, to, className, title = '') {
    const made = element('i', undefined, { className, title });
    made.style.setProperty('--from', `${axis.place(from)}%`);
    made.style.setProperty('--part', `${axis.place(to) - axis.place(from)}%`);
    return made;
  }

  // Behind the bars, or before them where there is no room.
  function told(axis, from, to, text) {
    const isBefore = axis.place(to) > 80 && axis.place(from) > 20;
    const made = element('em', text, { className: isBefore ? 'before' : '' });
    made.style.setProperty('--from', `${Math.min(80, axis.place(isBefore ? from : to))}%`);
    return made;
  }

  function laneOf(run, task, axis, waits, now) {
    const bars = waits.map((one) => bar(axis, one.from, one.to, 'wait', `waited ${took(one.to - one.from)} for a person`));
    const spans = waits.map((one) => [one.from, one.to]);
    if (task?.began) {
      const end = task.status === 'running' ? now : task.began + Math.max(0, task.ms) / 1000;
      bars.push(bar(axis, task.began, end, task.status));
      spans.push([task.began, end]);
    }
    const [from, to] = spans.length ? [Math.min(...spans.flat()), Math.max(...spans.flat())] : [run.began, run.began];
    return [...bars, told(axis, from, to, task ? stateOf(run, task) : '')];
  }

  function build(run) {
    const order = [...run.plan].sort((one, other) => (one.began || Infinity) - (other.began || Infinity) || 0);
    lines = new Map(order.map((task) => [task.id, line(task)]));
    const pause = filled('div', [element('span', 'after a layer', { className: 'name' }), element('span', undefined, { className: 'lane' })], { className: 'line' });
    const ticks = filled('div', [element('span', '', { className: 'name' }), element('span', undefined, { className: 'lane' })], { className: 'axis' });
    whole.replaceChildren(ticks, pause, ...lines.values());
  }

  find('picture').addEventListener('keydown', (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    const all = [...lines.values()];
    const here = all.indexOf(document.activeElement);
    if (!step || here < 0 || !whole.isConnected) return;
    event.preventDefault();
    all[here + step]?.focus();
  });

  let key = '';
  return {
    least: 1,
    most: 64,
    element: whole,
    fit: () => 1,
    draw(run, zoom) {
      const now = run.ended || serverNow();
      const axis = axisOf(run, now);
      const waits = waitsOf(run, now);
      const newKey = run.plan.map((one) => `${one.id} ${one.began}`).join();
      const focused = [...lines].find(([, one]) => one === document.activeElement)?.[0];
      if (newKey !== key) build(run);
      if (newKey !== key && focused) lines.get(focused)?.focus();
      key = newKey;
      whole.style.width = `${100 * zoom}%`;
      const [ticks, pause] = whole.children;
      ticks.lastChild.replaceChildren(...TICKS.map((place) => {
        const tick = element('span', took(axis.time(place) - run.began));
        tick.style.setProperty('--from', `${place}%`);
        return tick;
      }));
      const afterLayer = waits.filter((one) => !one.task);
      pause.hidden = afterLayer.length === 0;
      pause.lastChild.replaceChildren(...laneOf(run, null, axis, afterLayer, now));
      for (const task of run.plan) {
        const one = lines.get(task.id);
        one.className = `line ${task.status}${location.hash === one.hash ? ' open' : ''}`;
        one.lastChild.replaceChildren(...laneOf(run, task, axis, waits.filter((wait) => wait.task === task.id), now));
      }
      find('shortened').hidden = !axis.isShort;
    },
  };
}
