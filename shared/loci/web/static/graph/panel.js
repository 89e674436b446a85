// The panel: the facts and the text of the selected document.
function makePanel(show) {
  const panel = find('panel');
  const WORDS = {
    references: ['Refers to', 'Referred to by'],
    follows: ['Follows', 'Followed by'],
    implements: ['Implements', 'Implemented by'],
    similar: ['Similar', 'Similar'],
  };
  let asked = 0;

  function row(point, note) {
    const item = element('li');
    const inside = element(isDocument(point) ? 'button' : 'span');
    const dot = element('span', undefined, { className: isDocument(point) ? 'dot' : 'dot ghost' });
    if (isDocument(point)) {
      dot.style.setProperty('--colour', `var(${colourName(groupOf(point))})`);
      inside.addEventListener('click', () => show(point, true));
    }
    inside.append(dot, element('bdi', nameOf(point)));
    if (note) inside.append(element('small', note));
    item.append(inside);
    return item;
  }

  function list(title, rows) {
    if (rows.length === 0) return;
    const all = element('ul');
    all.append(...rows);
    find('panel-links').append(element('h3', title), all);
  }

  function listLinks(point) {
    find('panel-links').replaceChildren();
    for (const [relation, [from, to]] of Object.entries(WORDS)) {
      const mine = around[point].filter((link) => link[2] === relation);
      list(from, mine.filter((link) => link[0] === point).map((link) => row(link[1])));
      list(to, mine.filter((link) => link[1] === point).map((link) => row(link[0])));
    }
    const mentions = around[point].filter((link) => link[2] === 'missing');
    if (!isDocument(point)) {
      list('Mentioned in', mentions.map((link) => row(link[0])));
      return;
    }
    list('Mentions missing documents', mentions.map((link) => row(link[1])));
    list(
      'Similar, not linked',
      gapsOf[point].map((gap) => row(other(gap, point), gap[3] === 'duplicate' ? 'the same' : gap[2].toFixed(2))),
    );
  }

  async function read(point) {
    const mine = ++asked;
    const text = find('panel-text');
    text.replaceChildren();
    if (!isDocument(point)) return;
    try {
      if (facts.served) text.append(element('p', 'Loading…', { className: 'note' }));
      const words = await textOf(point);
      if (mine === asked) text.replaceChildren(readable(words || ''));
    } catch (error) {
      if (mine === asked) text.replaceChildren(element('p', String(error.message), { className: 'note' }));
    }
  }

  return {
    isOpen: () => !panel.hidden,
    open(point, search) {
      const one = documents[point];
      find('panel-title').textContent = nameOf(point);
      find('panel-path').textContent = one ? one.path : 'This document does not exist yet';
      find('panel-date').textContent = (one && one.date) || '';
      const tags = (one ? one.tags : []).map((tag) => {
        const item = element('li');
        const button = element('button', `#${tag}`, { dir: 'auto' });
        button.addEventListener('click', () => search(`#${tag}`));
        item.append(button);
        return item;
      });
      find('panel-tags').replaceChildren(...tags);
      listLinks(point);
      read(point);
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
