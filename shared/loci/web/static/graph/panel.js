// Shows what is known of a document beside the picture: its tags, its links and its text.
function makePanel(show) {
  const panel = find('detail');
  const WORDS = {
    references: ['Refers to', 'Referred to by'],
    follows: ['Follows', 'Followed by'],
    implements: ['Implements', 'Implemented by'],
    similar: ['Similar', 'Similar'],
  };
  let asked = 0;

  function row(point, remark) {
    const dot = element('span', undefined, { className: isDocument(point) ? 'dot' : 'dot ghost' });
    if (isDocument(point)) dot.style.setProperty('--colour', `var(${colourName(groupOf(point))})`);
    const inside = isDocument(point) ? button('', () => show(point, true), { className: '' }) : element('span');
    inside.append(dot, element('bdi', nameOf(point)), remark ? element('small', remark) : '');
    return filled('li', [inside]);
  }

  function linksOf(point) {
    const parts = [];
    const list = (title, rows) => rows.length > 0 && parts.push(element('h3', title), filled('ul', rows));
    for (const [relation, [from, to]] of Object.entries(WORDS)) {
      const mine = around[point].filter((link) => link[2] === relation);
      list(from, mine.filter((link) => link[0] === point).map((link) => row(link[1])));
      list(to, mine.filter((link) => link[1] === point).map((link) => row(link[0])));
    }
    const mentions = around[point].filter((link) => link[2] === 'missing');
    list(isDocument(point) ? 'Mentions missing documents' : 'Mentioned in', mentions.map((link) => row(other(link, point))));
    if (isDocument(point)) list('Similar, not linked', gapsOf[point].map((gap) => row(other(gap, point), gap[3] === 'duplicate' ? 'the same' : gap[2].toFixed(2))));
    return filled('div', parts, { id: 'links' });
  }

  // The text comes with the page, or from the server.
  async function read(one, text) {
    const mine = ++asked;
    try {
      const elements = picture.served ? (await ask(`search/documents/${encodeURIComponent(one.id)}`)).elements : [one.text].flat();
      if (mine === asked) text.replaceChildren(...elements.map((part) => elementOf(part, one.id)));
    } catch (error) {
      if (mine === asked) text.replaceChildren(element('p', error.message));
    }
  }

  // A link in a text leads to its document in the picture.
  panel.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#doc/"]');
    if (!link) return;
    event.preventDefault();
    const point = documents.findIndex((one) => documentHref(one.id) === link.hash.split('/', 2).join('/'));
    if (point >= 0) show(point, true);
  });

  return {
    isOpen: () => !panel.hidden,
    open(point, search) {
      const one = documents[point];
      const text = element('article', picture.served ? 'Loading …' : '', { id: 'document-text', className: 'text', dir: 'auto', ariaLabel: 'Text' });
      const tags = one && filled('ul', one.tags.map((tag) => filled('li', [button(`#${tag}`, () => search(`#${tag}`), { className: 'chip' })])), { className: 'chips' });
      find('detail-title').textContent = nameOf(point);
      find('detail-line').textContent = one ? [one.path, one.date && `${one.date}${one.changed ? ' (last change)' : ''}`].filter(Boolean).join(', ') : 'This document does not exist yet';
      find('detail-body').replaceChildren(...[tags, linksOf(point), one && text].filter(Boolean));
      if (one) read(one, text);
      panel.hidden = false;
      panel.scrollTop = 0;
      document.body.classList.add('reading');
    },
    close() {
      asked++;
      panel.hidden = true;
      document.body.classList.remove('reading');
    },
  };
}
