// The reader: the facts about one file, and its passages in their order.
function makeReader(list) {
  const reader = find('reader');
  const AT_ONCE = 40; // as the server sends them
  const BEFORE = 3;
  const shown = { id: null, version: undefined, first: 0, end: 0, total: 0 };
  let asked = 0;

  function fact(heading, ...parts) {
    return [element('h3', heading), ...parts];
  }

  function versionsOf(file) {
    const items = [...file.history].reverse().map((one) => {
      const item = element('li');
      const isFound = one.version === file.found_version;
      const isShown = shown.version === undefined ? isFound : String(one.version) === shown.version;
      const button = element('button', `Version ${one.version}, ${sizeOf(one.bytes)}`);
      button.append(', ', dayOf(one.added_at), isFound ? ' (current)' : '');
      button.setAttribute('aria-pressed', String(isShown));
      button.addEventListener('click', () => {
        for (const other of item.parentNode.querySelectorAll('button')) other.setAttribute('aria-pressed', String(other === button));
        shown.version = isFound ? undefined : String(one.version);
        read(0, -1);
      });
      item.append(button);
      return item;
    });
    const made = element('ul', undefined, { className: 'chips' });
    made.append(...items);
    return made;
  }

  function tablesOf(file) {
    const folded = element('details');
    folded.append(element('summary', plural(file.num_tables, 'table')));
    folded.addEventListener('toggle', async () => {
      if (!folded.open || folded.children.length > 1) return;
      const made = element('ul');
      folded.append(made);
      try {
        const answer = await ask(`files/${file.id}/tables`);
        made.append(
          ...answer.tables.map((one) => {
            const item = element('li', undefined, { dir: 'auto' });
            const name = one.title ? `${one.title}: ` : '';
            item.append(element('span', one.locator.label, { className: 'where' }), ` ${name}${plural(one.rows, 'row')}`);
            item.append(element('div', one.columns.filter(Boolean).join(' | '), { className: 'under' }));
            return item;
          }),
        );
        if (answer.total > answer.tables.length) made.append(element('li', `and ${answer.total - answer.tables.length} more`));
      } catch (error) {
        made.append(element('li', error.message, { className: 'note' }));
      }
    });
    return folded;
  }

  function factsOf(file) {
    const parts = [];
    if (file.status !== 'okay') {
      const words = { pending: 'It waits to be read.', running: 'It is being read.', error: 'It could not be read.' };
      const older = file.found_version ? ` Searches find version ${file.found_version}.` : '';
      parts.push(element('p', `${words[file.status]} ${file.reason || ''}${older}`, { className: `state ${file.status}`, dir: 'auto' }));
    }
    const download = element('p');
    download.append(element('a', 'Download', { href: address(`files/${file.id}/content`), id: 'download' }));
    parts.push(download);
    const writer = file.summary_by === 'rules' ? '' : ` by ${file.summary_by}`;
    if (file.summary) parts.push(...fact(`Summary${writer}`, element('p', file.summary, { dir: 'auto' })));
    if (file.sheet_names) {
      const sheets = element('ul', undefined, { className: 'chips' });
      sheets.append(...file.sheet_names.map((one) => element('li', one, { className: 'chip', dir: 'auto' })));
      parts.push(...fact('Sheets', sheets));
    }
    if (file.history.length > 0) parts.push(...fact('Versions', versionsOf(file)));
    if (file.remarks) parts.push(...fact('Not read', ...file.remarks.map((one) => element('p', one, { dir: 'auto' }))));
    if (file.num_tables > 0) parts.push(tablesOf(file));
    if (file.lineage) {
      const made = element('details');
      made.append(element('summary', 'Made by code'), element('pre', JSON.stringify(file.lineage, null, 2)));
      parts.push(made);
    }
    find('reader-facts').replaceChildren(...parts);
    const counts = [file.format, sizeOf(file.bytes)];
    if (file.num_pages) counts.push(plural(file.num_pages, 'page'));
    if (file.num_figures) counts.push(plural(file.num_figures, 'figure'));
    counts.push(plural(file.num_chunks, 'passage'));
    find('reader-line').textContent = counts.filter(Boolean).join(', ');
  }

  function article(passage, at, wanted) {
    const made = element('article', undefined, { className: at === wanted ? 'wanted' : '', tabIndex: -1 });
    made.append(element('div', passage.locator.label, { className: 'where', dir: 'auto' }), ...passageBody(passage, passage.locator.is_table));
    return made;
  }

  // Shows passages from this one on, in place of the others or beside them.
  async function read(first, wanted, beside) {
    const mine = beside ? asked : ++asked;
    const place = find('passages');
    try {
      const answer = await ask(`files/${shown.id}/passages`, { from: first, version: shown.version });
      if (mine !== asked) return;
      const some = beside === 'above' ? answer.passages.slice(0, shown.first - first) : answer.passages;
      const made = some.map((one, at) => article(one, first + at, wanted));
      if (beside === 'above') place.prepend(...made);
      else if (beside === 'below') place.append(...made);
      else place.replaceChildren(...made);
      if (beside !== 'below') shown.first = first;
      if (beside !== 'above') shown.end = first + AT_ONCE;
      shown.total = answer.total;
      find('earlier').hidden = shown.first === 0;
      find('later').hidden = shown.end >= shown.total;
      if (beside) made[0]?.focus({ preventScroll: true });
      place.querySelector('.wanted')?.scrollIntoView({ block: 'center' });
    } catch (error) {
      if (mine === asked) place.replaceChildren(element('p', error.message, { className: 'note' }));
    }
  }

  async function open(id, version, wanted) {
    const mine = ++asked;
    Object.assign(shown, { id, version });
    find('passages').replaceChildren();
    find('reader-facts').replaceChildren();
    find('reader-line').textContent = '';
    find('earlier').hidden = find('later').hidden = true;
    find('reader-name').textContent = list.linkOf(id)?.textContent || '…';
    reader.hidden = false;
    reader.scrollTop = 0;
    document.body.classList.add('reading');
    list.mark(id);
    reader.focus({ preventScroll: true });
    try {
      const file = await ask(`files/${id}`);
      if (mine !== asked) return;
      find('reader-name').textContent = file.name;
      factsOf(file);
      say(file.name);
      if (file.history.length > 0) await read(Math.max(0, wanted - BEFORE), wanted);
    } catch (error) {
      if (mine === asked) find('reader-facts').replaceChildren(element('p', error.message, { className: 'note' }));
    }
  }

  find('earlier').addEventListener('click', () => read(Math.max(0, shown.first - AT_ONCE), -1, 'above'));
  find('later').addEventListener('click', () => read(shown.end, -1, 'below'));

  return {
    isOpen: () => !reader.hidden,
    open,
    close() {
      asked++;
      reader.hidden = true;
      document.body.classList.remove('reading');
      list.mark(null);
    },
  };
}
