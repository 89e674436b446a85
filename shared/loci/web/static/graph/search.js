// Finds a document by words of its title, its path or its tags. The browser suggests titles while the user types.
function makeSearch(show) {
  const box = find('search');
  const plain = (text) => text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  const known = documents.map((one) => ({ title: plain(one.title), path: plain(one.path), tags: one.tags.map((tag) => plain(`#${tag}`)) }));
  find('found').append(...byDegree.filter(isDocument).map((point) => element('option', undefined, { value: documents[point].title, label: documents[point].path })));

  function worth(one, word) {
    if (one.title.startsWith(word)) return 6;
    if (one.title.includes(` ${word}`)) return 5;
    if (one.tags.some((tag) => tag === word || tag === `#${word}`)) return 4;
    if (one.title.includes(word)) return 3;
    if (one.path.includes(word)) return 2;
    return one.tags.some((tag) => tag.includes(word)) ? 1 : 0;
  }

  // The document that fits best; of equal ones, the most linked. -1 if one of the words is in none.
  function best(query) {
    const words = plain(query).split(/\s+/).filter(Boolean);
    let found = -1;
    let most = 0;
    for (const point of byDegree.filter(isDocument)) {
      const each = words.map((word) => worth(known[point], word));
      const sum = each.includes(0) ? 0 : each.reduce((all, value) => all + value, 0);
      if (sum > most) [found, most] = [point, sum];
    }
    return found;
  }

  function choose() {
    const point = best(box.value);
    if (point >= 0) show(point, true);
    else say('No document has these words');
  }

  find('ask').addEventListener('submit', (event) => {
    event.preventDefault();
    choose();
  });
  // A suggestion that was chosen is no typed text.
  box.addEventListener('input', (event) => {
    if (event.inputType === 'insertReplacementText' || !event.inputType) choose();
  });
  box.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    box.value = '';
    find('canvas').focus();
  });

  return (words) => {
    box.value = words;
    box.focus();
    box.select();
  };
}
