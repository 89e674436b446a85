// Looks again when something of these kinds may have changed: with the server's events, as long as somebody sees the page.
// Where no stream stays open, the page asks after longer and longer pauses, until there is an event or somebody acts.
const BEAT_MS = 1000;
const LONG_BEAT_MS = 10_000;
const MOST_MS = 5000;
const MOST_QUIET_MS = 60_000;
const LONGER = 1.5;
const BETWEEN_MS = 100; // many events come together
const UNSEEN_MS = 30_000;
// A page does not spend more than this share of the time on asking.
const ASKING_SHARE = 0.1;

// `look` may say false: then it is over. `isCounted`: it is called now and then also while nobody sees the page.
function watch(kinds, look, isCounted = false) {
  let timer = 0;
  let pause = BEAT_MS;
  let isAsking = false;
  let isWanted = false;
  let isOver = false;
  let events = null;
  let endings = 2; // of the stream since it was last open: behind API Gateway each answer ends, and the next one opens it again

  // A page that nobody sees keeps no stream open.
  function listen() {
    const isSeen = !isOver && !document.hidden;
    if (!isSeen && events) {
      events.close();
      events = null;
    }
    if (events?.readyState === EventSource.CLOSED) events = null; // it was refused
    if (!isSeen || events) return;
    events = new EventSource(address('events', { kinds: kinds.join(',') }));
    for (const kind of [...kinds, 'missed']) events.addEventListener(kind, wake);
    events.addEventListener('open', () => (endings = 0));
    events.addEventListener('error', () => endings++);
  }

  function wake() {
    pause = BEAT_MS;
    return turn();
  }

  // Somebody has acted: a stream that pauses begins anew.
  function acted() {
    if (events && events.readyState !== EventSource.OPEN) {
      events.close();
      events = null;
    }
    return wake();
  }

  async function turn() {
    clearTimeout(timer);
    listen();
    isWanted = isAsking;
    if (isOver || isAsking || (document.hidden && !isCounted)) return;
    isAsking = true;
    const began = performance.now();
    try {
      isOver = (await look()) === false;
      trouble('');
      const quiet = endings === 0 ? 0 : Math.min(LONGER * pause, MOST_QUIET_MS);
      pause = Math.max(endings < 2 ? LONG_BEAT_MS : BEAT_MS, quiet, (performance.now() - began) / ASKING_SHARE);
    } catch (error) {
      trouble(error.message);
      pause = Math.min(LONGER * pause, MOST_MS);
    }
    isAsking = false;
    if (isOver) listen();
    else timer = setTimeout(turn, isWanted ? Math.min(pause, BETWEEN_MS) : document.hidden ? UNSEEN_MS : pause);
  }

  document.addEventListener('visibilitychange', acted);
  addEventListener('load', listen);
  timer = setTimeout(turn, BEAT_MS);
  return acted;
}

// The number of open questions, in the bar.
function showWaits(number) {
  find('waits').firstChild.textContent = number;
  find('waits').hidden = number === 0;
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
