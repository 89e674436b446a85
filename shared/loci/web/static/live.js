// Tells a page when something may have changed: with the server's events, as long as somebody sees the page. Where
// there are none, or their stream breaks, it is every second.
const BEAT_MS = 1000;
const LONG_BEAT_MS = 10_000;
const MOST_MS = 5000;
const BETWEEN_MS = 100; // many events come together
const UNSEEN_MS = 30_000;
// A page does not spend more than this share of the time on asking.
const ASKING_SHARE = 0.1;

// Calls back whenever something of these kinds may have changed, until the callback says false. Returns a function
// that calls back at once. `glance`: called now and then instead, while nobody sees the page.
function onChange(kinds, callback, glance = null) {
  let timer = 0;
  let pause = BEAT_MS;
  let isAsking = false;
  let isWanted = false;
  let isOver = false;
  let events = null;

  const beat = () => (events && events.readyState === EventSource.OPEN ? LONG_BEAT_MS : BEAT_MS);

  // A page that nobody sees keeps no stream open.
  function listen() {
    const isSeen = !isOver && !document.hidden;
    if (!isSeen && events) {
      events.close();
      events = null;
    }
    if (!isSeen || events) return;
    events = new EventSource(address('events', { kinds: kinds.join(',') }));
    for (const kind of [...kinds, 'missed']) events.addEventListener(kind, look);
  }

  async function look() {
    clearTimeout(timer);
    listen();
    isWanted = isAsking;
    if (isOver || isAsking) return;
    if (document.hidden) {
      if (glance) timer = setTimeout(peek, UNSEEN_MS);
      return;
    }
    isAsking = true;
    const began = performance.now();
    try {
      isOver = (await callback()) === false;
      pause = Math.max(beat(), (performance.now() - began) / ASKING_SHARE);
    } catch {
      pause = Math.min(1.5 * pause, MOST_MS);
    }
    isAsking = false;
    if (isOver) listen();
    else timer = setTimeout(look, isWanted ? Math.min(pause, BETWEEN_MS) : pause);
  }

  async function peek() {
    await glance().catch(() => {});
    clearTimeout(timer);
    look();
  }

  document.addEventListener('visibilitychange', look);
  addEventListener('load', listen);
  timer = setTimeout(look, BEAT_MS);
  return look;
}

// Asks the path when something of these kinds may have changed, and hands over the answer if it is another one. `query`
// says what else is asked. `count`: takes the number of all rows, also while nobody sees the page.
function watch(kinds, path, take, query = () => ({}), count = null) {
  let seen = facts.tag;
  let counted = {};
  let goesOn = true;

  async function glance() {
    const answer = await ask(path, { most: 1, seen: counted.tag });
    if (!answer.same) counted = answer;
    count(counted.total);
  }

  async function asks() {
    let answer;
    try {
      answer = await ask(path, { ...query(), seen });
    } catch (error) {
      trouble(error.message);
      throw error;
    }
    trouble('');
    if (!answer.same) goesOn = take(answer);
    seen = answer.same ? seen : answer.tag;
    return goesOn;
  }

  return onChange(kinds, asks, count && glance);
}

// Says at the top of the page that what it shows may be old.
function trouble(text) {
  let place = find('trouble');
  if (!place) {
    if (!text) return;
    place = element('p', undefined, { id: 'trouble' });
    place.setAttribute('role', 'status');
    find('content').prepend(place);
  }
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}
