// What is open beside the page. The address names it, so a link leads there and Back leads back. An opener has a `pattern`
// of the address, `open`, which gives what is shown, and perhaps `again`, which is called if that is open already.
function makeDetail(openers, rest = () => find('content')) {
  const panel = find('detail');
  let key = null;
  let asked = 0;
  let cameFrom = null;

  function wanted() {
    for (const opener of openers) {
      const found = opener.pattern.exec(location.hash)?.map((part) => part && decoded(part));
      if (found) return { opener, found };
    }
    return null;
  }

  function fill({ title, line = '', parts }) {
    find('detail-title').textContent = title;
    find('detail-line').textContent = line;
    find('detail-body').replaceChildren(...parts.filter(Boolean));
  }

  async function load({ opener, found }) {
    const mine = ++asked;
    try {
      const made = await opener.open(found);
      if (mine !== asked) return;
      fill(made);
      say(made.title);
      made.after?.();
    } catch (error) {
      if (mine === asked) find('detail-body').replaceChildren(note(error.message, 'state error'));
    }
  }

  function mark() {
    for (const one of document.querySelectorAll('main a[href^="#"]')) (one.closest('li') || one).classList.toggle('open', one.getAttribute('href') === location.hash);
  }

  function follow() {
    const now = wanted();
    mark();
    if (!now) return close();
    const isSame = key === now.found[1];
    key = now.found[1];
    if (isSame && now.opener.again) return now.opener.again(now.found);
    fill({ title: '…', parts: [] });
    panel.hidden = false;
    panel.scrollTop = 0;
    document.body.classList.add('reading');
    panel.focus({ preventScroll: true });
    return load(now);
  }

  function close() {
    asked++;
    key = null;
    if (panel.hidden) return;
    panel.hidden = true;
    document.body.classList.remove('reading');
    const link = [...document.querySelectorAll('main a')].find((one) => one.getAttribute('href') === cameFrom);
    (link || rest()).focus();
  }

  function leave() {
    history.pushState(history.state, '', location.pathname + location.search);
    follow();
  }

  addEventListener('hashchange', follow);
  addEventListener('click', (event) => {
    cameFrom = event.target.closest('main a[href^="#"]')?.getAttribute('href') ?? cameFrom;
  });
  addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || panel.hidden || document.querySelector('dialog')) return;
    leave();
    event.preventDefault();
  });
  find('close').addEventListener('click', leave);
  return {
    follow,
    leave,
    mark,
    isOpen: () => !panel.hidden,
    // Shows what is open as it is now.
    refresh: () => (panel.hidden ? undefined : load(wanted())),
  };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
