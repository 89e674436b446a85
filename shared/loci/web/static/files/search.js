// Searches in all files, as an agent does.
function makeSearch() {
  const box = find('search');
  const LEVELS = { strong: 'fits well', possible: 'may fit', none: 'does not fit' };
  let asked = 0;

  function foundFile(file) {
    const item = element('li');
    const heading = element('h2');
    const link = element('a', undefined, { href: `#${file.id}` });
    link.append(element('bdi', file.name));
    heading.append(link, element('span', LEVELS[file.match] || file.match, { className: `match ${file.match}` }));
    item.append(heading);
    for (const passage of file.passages) {
      const made = element('div', undefined, { className: 'passage' });
      const where = element('a', passage.locator.label, { className: 'where', href: `#${passage.chunk_id.replace('#', '~')}`, dir: 'auto' });
      where.setAttribute('aria-label', `${passage.locator.label} of ${file.name}`);
      made.append(where, ...passageBody(passage, Boolean(passage.locator.cells)));
      item.append(made);
    }
    return item;
  }

  function tell(text) {
    find('match').textContent = text;
    say(text);
  }

  async function search(question) {
    const mine = ++asked;
    rememberWords(question);
    if (!question.trim()) return leave();
    tell('Searching …');
    find('results').hidden = false;
    find('list').hidden = true;
    find('found').replaceChildren();
    try {
      const answer = await ask('files/search', { q: question });
      if (mine !== asked) return;
      find('found').replaceChildren(...answer.results.map(foundFile));
      const count = answer.results.length;
      tell(count > 0 ? `${plural(count, 'file')}; the best one ${LEVELS[answer.match] || answer.match}` : answer.reason || 'Nothing is about it');
    } catch (error) {
      if (mine === asked) tell(error.message);
    }
  }

  function leave() {
    asked++;
    rememberWords('');
    find('results').hidden = true;
    find('list').hidden = false;
    say('All files');
  }

  find('ask').addEventListener('submit', (event) => {
    event.preventDefault();
    search(box.value);
  });
  box.addEventListener('input', () => {
    if (!box.value) leave();
  });
  box.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && box.value) {
      box.value = '';
      leave();
    } else if (event.key === 'ArrowDown') document.querySelector('#found a.where, #list:not([hidden]) #rows a')?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
