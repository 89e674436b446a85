// Opens a file: the facts about it, and its passages in their order.
const AT_ONCE = 40; // as the server sends them
const BEFORE = 3;
let fileButtons = () => []; // what a page lets people do with a file

function versionsOf(file, shown, chosen) {
  const buttons = [...file.history].reverse().map((one) => {
    const isFound = one.version === file.found_version;
    const made = button(`Version ${one.version}, ${sizeOf(one.bytes)}, `, () => {
      for (const other of buttons) other.setAttribute('aria-pressed', String(other === made));
      chosen(isFound ? undefined : one.version);
    }, { className: 'chip' });
    made.append(timeOf(one.added_at), isFound ? ' (current)' : '');
    made.setAttribute('aria-pressed', String(shown === undefined ? isFound : String(one.version) === shown));
    return made;
  });
  return filled('ul', buttons.map((one) => filled('li', [one])), { className: 'chips', id: 'versions' });
}

function tablesOf(file) {
  const list = element('ul');
  const folded = filled('details', [element('summary', plural(file.num_tables, 'table')), list], { id: 'tables' });
  const row = (one) => filled('li', [element('span', one.locator.label, { className: 'where' }), ` ${one.title ? `${one.title}: ` : ''}${plural(one.rows, 'row')}`, element('div', one.columns.filter(Boolean).join(' | '), { className: 'under' })], { dir: 'auto' });
  folded.addEventListener('toggle', async () => {
    if (!folded.open || list.children.length > 0) return;
    try {
      const answer = await ask(`files/${file.id}/tables`);
      list.replaceChildren(...answer.tables.map(row));
      if (answer.total > answer.tables.length) list.append(element('li', `and ${answer.total - answer.tables.length} more`));
    } catch (error) {
      list.replaceChildren(element('li', error.message, { className: 'note' }));
    }
  });
  return folded;
}

function factsOf(file) {
  const parts = [];
  if (file.status !== 'okay') {
    const words = { pending: 'It waits to be read.', running: 'It is being read.', error: 'It could not be read.' };
    const older = file.found_version ? ` Searches find version ${file.found_version}.` : '';
    parts.push(note(`${words[file.status]} ${file.reason || ''}${older}`, `state ${file.status}`));
  }
  parts.push(filled('p', [element('a', 'Download', { href: address(`files/${file.id}/content`), id: 'download' }), ...fileButtons(file)], { className: 'acts' }));
  if (file.summary) parts.push(element('h3', `Summary${file.summary_by === 'rules' ? '' : ` by ${file.summary_by}`}`), element('p', file.summary, { dir: 'auto' }));
  if (file.sheet_names) parts.push(element('h3', 'Sheets'), chips('Sheets', file.sheet_names));
  if (file.remarks) parts.push(element('h3', 'Not read'), ...file.remarks.map((one) => element('p', one, { dir: 'auto' })));
  if (file.num_tables > 0) parts.push(tablesOf(file));
  if (file.lineage) parts.push(filled('details', [element('summary', 'Made by code'), element('pre', JSON.stringify(file.lineage, null, 2))]));
  return parts;
}

// The passages of a version, beginning shortly before the wanted one.
function passagesOf(id, version, wanted) {
  const place = element('div', undefined, { id: 'passages' });
  const earlier = button('Earlier passages', () => read(Math.max(0, first - AT_ONCE), 'above'), { className: 'step', id: 'earlier', hidden: true });
  const later = button('Later passages', () => read(end, 'below'), { className: 'step', id: 'later', hidden: true });
  let [first, end] = [0, 0];
  let asked = 0;

  function article(passage, at) {
    const made = element('article', undefined, { className: at === wanted ? 'wanted' : '', tabIndex: -1 });
    made.append(element('div', passage.locator.label, { className: 'where', dir: 'auto' }), ...passageBody(passage, passage.locator.is_table));
    return made;
  }

  // Shows passages from this one on, in place of the others or beside them.
  async function read(from, beside) {
    const mine = ++asked;
    try {
      const answer = await ask(`files/${id}/passages`, { from, version });
      if (mine !== asked) return;
      const some = beside === 'above' ? answer.passages.slice(0, first - from) : answer.passages;
      const made = some.map((one, at) => article(one, from + at));
      if (beside === 'above') place.prepend(...made);
      else if (beside === 'below') place.append(...made);
      else place.replaceChildren(...made);
      if (beside !== 'below') first = from;
      if (beside !== 'above') end = from + AT_ONCE;
      earlier.hidden = first === 0;
      later.hidden = end >= answer.total;
      if (beside) made[0]?.focus({ preventScroll: true });
      scroll();
    } catch (error) {
      if (mine === asked) place.replaceChildren(note(error.message));
    }
  }

  const scroll = () => place.querySelector('.wanted')?.scrollIntoView({ block: 'center' });
  return {
    parts: [earlier, place, later],
    scroll,
    begin: () => read(Math.max(0, wanted - BEFORE)),
    choose(other) {
      [version, wanted] = [other, -1];
      read(0);
    },
  };
}

// #ds-…, #ds-…~12 for a passage, #ds-…@3~12 for one of an older version.
const fileOpener = {
  pattern: /^#(ds-[0-9a-f]+)(?:@(\d{1,6}))?(?:~(\d{1,6}))?$/,
  async open([, id, version, wanted]) {
    const file = await ask(`files/${id}`);
    const passages = passagesOf(id, version, wanted === undefined ? -1 : Number(wanted));
    const versions = file.history.length > 0 && [element('h3', 'Versions'), versionsOf(file, version, passages.choose)];
    if (versions) await passages.begin();
    const counts = [file.format, sizeOf(file.bytes), file.num_pages && plural(file.num_pages, 'page'), file.num_figures && plural(file.num_figures, 'figure'), plural(file.num_chunks, 'passage')];
    return { title: file.name, line: counts.filter(Boolean).join(', '), parts: [...factsOf(file), ...(versions || []), ...passages.parts], after: passages.scroll };
  },
};
