// The reader of a document: its text with links that lead on, and the documents that link to it.
function makeDocument() {
  const panel = find('document');
  const matter = find('document-matter');
  let asked = 0;
  let id = null;
  let next = null;

  function backlink(one) {
    const item = element('li');
    const link = element('a', undefined, { href: documentHref(one.id) });
    link.append(element('bdi', one.title));
    item.append(link, ` ${one.type}${one.line ? `, line ${one.line}` : ''}`, element('div', one.evidence, { className: 'under', dir: 'auto' }));
    return item;
  }

  function show(read) {
    find('document-title').textContent = read.title;
    find('document-line').textContent = [read.path, read.date && `${read.date}${read.date_from === 'file' ? ' (last change)' : ''}`].filter(Boolean).join(', ');
    find('document-tags').replaceChildren(...read.tags.map((tag) => element('li', `#${tag}`, { className: 'chip', dir: 'auto' })));
    matter.hidden = !read.front_matter;
    matter.querySelector('pre').textContent = read.front_matter;
    find('backlinks-heading').hidden = read.linked_by === 0;
    find('backlinks').replaceChildren(...read.backlinks.map(backlink));
    if (read.linked_by > read.backlinks.length) find('backlinks').append(element('li', `and ${read.linked_by - read.backlinks.length} more`));
  }

  // To a heading; without a name, to the top.
  function goTo(part) {
    const wanted = part && [...find('document-text').querySelectorAll('[data-part]')].find((one) => one.dataset.part === partName(part));
    if (!wanted) {
      if (!part) panel.scrollTop = 0;
      return;
    }
    wanted.tabIndex = -1;
    wanted.scrollIntoView();
    wanted.focus({ preventScroll: true });
  }

  async function read(first, part) {
    const mine = ++asked;
    const text = find('document-text');
    try {
      const answer = await ask(`search/documents/${encodeURIComponent(id)}`, { from: first || undefined });
      if (mine !== asked) return;
      const made = answer.elements.map((one) => elementOf(one, id));
      if (!first) show(answer);
      if (first) text.append(...made);
      else text.replaceChildren(...made);
      next = answer.next;
      find('document-more').hidden = next === null;
      say(first ? 'More of the document' : answer.title);
      if (part) goTo(part);
    } catch (error) {
      if (mine === asked) text.append(element('p', error.message, { className: 'note' }));
    }
  }

  find('document-more').addEventListener('click', () => read(next));

  return {
    isOpen: () => !panel.hidden,
    open(wanted, part) {
      if (!panel.hidden && wanted === id) return goTo(part);
      id = wanted;
      find('document-title').textContent = '…';
      find('document-line').textContent = '';
      for (const name of ['document-tags', 'document-text', 'backlinks']) find(name).replaceChildren();
      for (const name of ['document-matter', 'document-more', 'backlinks-heading']) find(name).hidden = true;
      panel.hidden = false;
      panel.scrollTop = 0;
      document.body.classList.add('reading');
      panel.focus({ preventScroll: true });
      read(0, part);
    },
    close() {
      asked++;
      panel.hidden = true;
      document.body.classList.remove('reading');
    },
  };
}
