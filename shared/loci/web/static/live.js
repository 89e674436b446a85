// Tells a page when something may have changed: every second, as long as somebody sees the page.
const BEAT_MS = 1000;
const MOST_MS = 5000;
// A page does not spend more than this share of the time on asking.
const ASKING_SHARE = 0.1;

// Calls back whenever something of these kinds may have changed, until the callback says false. Returns a function
// that calls back at once.
function onChange(kinds, callback) {
  let timer = 0;
  let pause = BEAT_MS;
  let isAsking = false;
  let isWanted = false;
  let isOver = false;

  async function look() {
    clearTimeout(timer);
    isWanted = isAsking;
    if (isOver || isAsking || document.hidden) return;
    isAsking = true;
    const began = performance.now();
    try {
      isOver = (await callback()) === false;
      pause = Math.max(BEAT_MS, (performance.now() - began) / ASKING_SHARE);
    } catch {
      pause = Math.min(1.5 * pause, MOST_MS);
    }
    isAsking = false;
    if (!isOver) timer = setTimeout(look, isWanted ? 0 : pause);
  }

  document.addEventListener('visibilitychange', look);
  timer = setTimeout(look, BEAT_MS);
  return look;
}

// Asks the path when something of these kinds may have changed, and hands over the answer if it is another one.
function watch(kinds, path, take) {
  let seen = facts.tag;
  let goesOn = true;
  return onChange(kinds, async () => {
    let answer;
    try {
      answer = await ask(path, { seen });
    } catch (error) {
      trouble(error.message);
      throw error;
    }
    trouble('');
    if (!answer.same) goesOn = take(answer);
    seen = answer.same ? seen : answer.tag;
    return goesOn;
  });
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
