// Finds documents by title, path and tag while the user types.
function makeSearch(show, leave) {
  const box = find('search');
  const found = find('found');
  const MOST = 40;
  const plain = (text) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const known = documents.map((one) => ({
    title: plain(one.title),
    path: plain(one.path),
    tags: one.tags.map((tag) => plain(`#${tag}`)),
  }));
  let rows = [];
  let at = 0;

  function worth(one, word) {
    if (one.title.startsWith(word)) return 6;
    if (one.title.includes(` ${word}`)) return 5;
    if (one.tags.some((tag) => tag === word || tag === `#${word}`)) return 4;
    if (one.title.includes(word)) return 3;
    if (one.path.includes(word)) return 2;
    return one.tags.some((tag) => tag.includes(word)) ? 1 : 0;
  }

  function matches(query) {
    const words = plain(query).split(/\s+/).filter(Boolean);
    if (words.length === 0) return byDegree.filter(isDocument).slice(0, 8);
    const scores = known.map((one) => {
      const each = words.map((word) => worth(one, word));
      return each.includes(0) ? 0 : each.reduce((sum, value) => sum + value, 0);
    });
    const some = byDegree.filter((point) => scores[point] > 0);
    return some.sort((a, b) => scores[b] - scores[a]).slice(0, MOST);
  }

  function mark(next) {
    at = Math.min(Math.max(next, 0), rows.length - 1);
    [...found.children].forEach((item, place) => {
      if (rows.length > 0) item.setAttribute('aria-selected', String(place === at));
    });
    if (rows.length === 0) {
      box.removeAttribute('aria-activedescendant');
      return;
    }
    box.setAttribute('aria-activedescendant', `found-${at}`);
    found.children[at].scrollIntoView({ block: 'nearest' });
  }

  function fill() {
    rows = matches(box.value);
    const items = rows.map((point, place) => {
      const item = element('li', undefined, { id: `found-${place}` });
      item.setAttribute('role', 'option');
      item.append(element('bdi', documents[point].title), element('small', documents[point].path, { dir: 'auto' }));
      // On `pointerdown`, because the list closes when the box loses the focus.
      item.addEventListener('pointerdown', (event) => {
        event.preventDefault();
        choose(point);
      });
      return item;
    });
    if (items.length === 0) {
      const none = element('li', 'No document has these words');
      none.setAttribute('role', 'presentation');
      items.push(none);
    }
    found.replaceChildren(...items);
    setOpen(true);
    mark(0);
  }

  function setOpen(isOpen) {
    found.hidden = !isOpen;
    box.setAttribute('aria-expanded', String(isOpen));
  }

  function choose(point) {
    setOpen(false);
    show(point, true);
  }

  box.addEventListener('input', fill);
  box.addEventListener('focus', fill);
  box.addEventListener('blur', () => setOpen(false));
  box.addEventListener('keydown', (event) => {
    if (event.key === 'ArrowDown') mark(at + 1);
    else if (event.key === 'ArrowUp') mark(at - 1);
    else if (event.key === 'Enter' && rows[at] !== undefined && !found.hidden) choose(rows[at]);
    else if (event.key === 'Escape') {
      if (box.value) {
        box.value = '';
        fill();
      } else leave();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  });

  return function search(words) {
    box.value = words;
    box.focus();
    box.select();
    fill();
  };
}
