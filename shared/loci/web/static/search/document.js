// Opens a document: its text with links that lead on, and the documents that link to it.
function backlink(one) {
  const link = filled('a', [element('bdi', one.title)], { href: documentHref(one.id) });
  return filled('li', [link, ` ${one.type}${one.line ? `, line ${one.line}` : ''}`, element('div', one.evidence, { className: 'under', dir: 'auto' })]);
}

function backlinksOf(read) {
  const list = filled('ul', read.backlinks.map(backlink), { id: 'backlinks' });
  if (read.linked_by > read.backlinks.length) list.append(element('li', `and ${read.linked_by - read.backlinks.length} more`));
  return [element('h3', 'Linked from'), list];
}

// To a heading; without a name, to the top.
function goTo(part) {
  const wanted = part && [...find('document-text').querySelectorAll('[data-part]')].find((one) => one.dataset.part === partName(part));
  if (!part) find('detail').scrollTop = 0;
  if (!wanted) return;
  wanted.tabIndex = -1;
  wanted.scrollIntoView();
  wanted.focus({ preventScroll: true });
}

// #doc/ID, #doc/ID/HEADING
const documentOpener = {
  pattern: /^#doc\/([^/]+)(?:\/(.*))?$/,
  again: ([, , part]) => goTo(part),
  async open([, id, part]) {
    const path = `search/documents/${encodeURIComponent(id)}`;
    const read = await ask(path);
    const text = filled('article', read.elements.map((one) => elementOf(one, id)), { id: 'document-text', className: 'text', dir: 'auto', ariaLabel: 'Text' });
    let next = read.next;
    const more = button('Read on', async () => {
      try {
        const answer = await ask(path, { from: next });
        text.append(...answer.elements.map((one) => elementOf(one, id)));
        next = answer.next;
        more.hidden = next === null;
        say('More of the document');
      } catch (error) {
        text.append(note(error.message));
      }
    }, { className: 'step', hidden: next === null });
    const date = read.date && `${read.date}${['file', 'git'].includes(read.date_from) ? ' (last change)' : ''}`;
    const parts = [
      read.tags.length > 0 && chips('Tags', read.tags.map((one) => `#${one}`)),
      read.front_matter && filled('details', [element('summary', 'Front matter'), element('pre', read.front_matter, { tabIndex: 0 })]),
      text,
      more,
      ...(read.linked_by > 0 ? backlinksOf(read) : []),
    ];
    return { title: read.title, line: [read.path, date, read.owner && `shared by ${read.owner}`].filter(Boolean).join(', '), parts, after: () => part && goTo(part) };
  },
};
