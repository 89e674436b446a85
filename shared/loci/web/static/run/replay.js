// What happened in a run, one event after the other, and the way back to each moment.
function eventsOf(run) {
  const events = [{ at: run.began, text: 'The workflow began' }];
  const begins = (id, at, number) => events.push({ at, text: `${id} began${number > 1 ? `, try ${number}` : ''}` });
  const asks = (id, at) => events.push({ at, text: id ? `${id} waits for an answer` : 'It waits after a layer' });
  for (const one of run.past) {
    begins(one.task, one.began, one.number);
    events.push({ at: one.began + one.ms / 1000, text: `${one.task} failed and is tried again: ${one.error}` });
  }
  for (const task of run.plan) {
    if (!task.began || isPast(run, task)) continue;
    begins(task.id, task.began, task.tries);
    if (task.status === 'success') events.push({ at: task.began + task.ms / 1000, text: `${task.id} is done, after ${took(task.ms / 1000)}` });
    if (task.status === 'error') events.push({ at: task.began + task.ms / 1000, text: `${task.id} failed: ${cut(task.error || '', 300)}` });
  }
  for (const one of run.decisions) if (one.asked) asks(one.task, one.asked);
  for (const one of run.decisions) events.push({ at: one.at, text: `Answer: ${one.what}${one.by ? ` by ${one.by}` : ''}${one.reason ? `, “${one.reason}”` : ''}` });
  if (run.checkpoint) asks(run.checkpoint.task, run.checkpoint.since);
  if (run.ended) {
    for (const task of run.plan) if (task.status === 'skipped') events.push({ at: run.ended, text: `${task.id} was skipped: ${cut(task.error || '', 300)}` });
    events.push({ at: run.ended, text: `The workflow ${statusSaid(run.status)}` });
  }
  return events.map((one, order) => ({ ...one, order })).sort((a, b) => a.at - b.at || a.order - b.order);
}

function makeReplay(moved) {
  const STEP_MS = { least: 250, most: 1500 };
  const slider = find('moment');
  let events = [];
  let at = null; // null: now
  let timer = 0;
  let key = '';

  function go(to, isPlaying) {
    at = to;
    if (!isPlaying) stop();
    const here = at === null ? events.length - 1 : at;
    slider.value = here;
    slider.setAttribute('aria-valuetext', at === null ? 'now' : events[here].text);
    find('live').setAttribute('aria-pressed', String(at === null));
    for (const [index, item] of [...find('events').children].entries()) {
      if (index === at) item.setAttribute('aria-current', 'step');
      else item.removeAttribute('aria-current');
    }
    moved();
  }

  function stop() {
    clearTimeout(timer);
    timer = 0;
    find('play').textContent = 'Play';
    find('play').setAttribute('aria-pressed', 'false');
  }

  function play() {
    const next = at === null ? 0 : at + 1;
    if (next >= events.length) return go(null);
    go(next, true);
    const gap = next + 1 < events.length ? 1000 * (events[next + 1].at - events[next].at) : 0;
    timer = setTimeout(play, Math.min(STEP_MS.most, Math.max(STEP_MS.least, gap)));
  }

  function item(event, index) {
    const made = element('li');
    const button = element('button', undefined, { type: 'button' });
    button.append(element('time', `+${took(event.at - events[0].at)}`), element('bdi', event.text));
    button.addEventListener('click', () => go(index));
    made.append(button);
    return made;
  }

  slider.addEventListener('input', () => go(Number(slider.value)));
  find('live').addEventListener('click', () => go(null));
  find('play').addEventListener('click', () => {
    if (timer) return stop();
    find('play').textContent = 'Stop';
    find('play').setAttribute('aria-pressed', 'true');
    play();
  });

  return {
    moment: () => (at === null ? null : events[at].at),
    take(run) {
      events = eventsOf(run);
      const newKey = JSON.stringify(events);
      if (newKey === key) return;
      key = newKey;
      slider.max = events.length - 1;
      if (at === null) slider.value = events.length - 1;
      const focused = [...find('events').children].indexOf(document.activeElement?.closest('#events li'));
      find('events').replaceChildren(...events.map(item));
      if (focused >= 0) find('events').children[focused]?.firstChild.focus({ preventScroll: true });
      if (at !== null) find('events').children[at]?.setAttribute('aria-current', 'step');
    },
  };
}
