// The list of files, the newest first. It asks again while some are not read yet.
function makeList() {
  const PAUSES_MS = { first: 1000, longest: 30000 };
  const PATIENCE_MS = 300000;
  const known = new Map();
  const expected = new Map();
  let total = 0;
  let waiting = 0;
  let pause = PAUSES_MS.first;
  let opened = null;
  const STATES = { pending: 'Waiting to be read', running: 'Being read', error: 'Not read' };

  function contents(file) {
    const parts = [];
    if (file.pages) parts.push(plural(file.pages, 'page'));
    if (file.sheets) parts.push(plural(file.sheets, 'sheet'));
    if (file.tables) parts.push(plural(file.tables, 'table'));
    if (file.chunks) parts.push(plural(file.chunks, 'passage'));
    return parts.join(', ');
  }

  function row(file) {
    const made = element('tr', undefined, { className: file.id === opened ? 'open' : '' });
    made.dataset.id = file.id;
    made.dataset.status = file.status;
    const name = element('td');
    const link = element('a', undefined, { href: `#${file.id}` });
    link.append(element('bdi', file.name));
    name.append(link);
    if (file.status !== 'okay') {
      const text = STATES[file.status] + (file.reason ? `: ${file.reason}` : '');
      name.append(element('span', text, { className: `state ${file.status}`, dir: 'auto' }));
    }
    const versions = element('td', numeral(file.versions), { className: 'number' });
    versions.dataset.name = 'Version';
    const added = element('td');
    added.append(dayOf(file.added));
    made.append(name, element('td', file.format), element('td', sizeOf(file.bytes), { className: 'number' }));
    made.append(versions, element('td', contents(file)), added);
    return made;
  }

  function show() {
    const files = [...known.values()];
    const focused = document.activeElement && document.activeElement.closest('#rows tr');
    find('rows').replaceChildren(...files.map(row));
    if (focused) linkOf(focused.dataset.id)?.focus({ preventScroll: true });
    find('more').hidden = files.length >= total;
    find('counts').textContent =
      total === 0
        ? 'There are no files yet.' + (facts.uploads ? ' Drop some here, or run: loci add FILE' : ' Run: loci add FILE')
        : files.length < total
          ? `The ${numeral(files.length)} newest of ${plural(total, 'file')}`
          : plural(total, 'file');
    document.querySelector('#list table').hidden = total === 0;
  }

  const linkOf = (id) => [...find('rows').children].find((one) => one.dataset.id === id)?.querySelector('a');

  function take(answer, isFirst) {
    const before = [...known.values()];
    if (isFirst) known.clear();
    for (const file of answer.files) known.set(file.id, file);
    // What was loaded further down stays, unless its file is newer now and came at the top.
    if (isFirst && answer.total > answer.files.length) for (const file of before) if (!known.has(file.id)) known.set(file.id, file);
    total = answer.total;
    for (const [name, one] of expected) if (stateOf(name) !== one.before || Date.now() > one.until) expected.delete(name);
    show();
    watch();
  }

  function watch() {
    clearTimeout(waiting);
    const isReading = expected.size > 0 || [...known.values()].some((one) => one.status === 'pending' || one.status === 'running');
    if (!isReading) pause = PAUSES_MS.first;
    else {
      // Most files are read soon. One that cannot be read now may wait for long.
      waiting = setTimeout(() => refresh().catch(watch), pause);
      pause = Math.min(1.5 * pause, PAUSES_MS.longest);
    }
  }

  const stateOf = (name) => JSON.stringify([...known.values()].find((one) => one.name === name) || null);

  async function refresh() {
    if (document.hidden) return watch();
    take(await ask('files/list'), true);
  }

  find('more').addEventListener('click', async () => {
    try {
      take(await ask('files/list', { from: known.size }), false);
    } catch (error) {
      say(error.message);
      find('counts').textContent = error.message;
    }
  });
  take(facts, true);

  return {
    refresh,
    // Asks until the list has this file, which was sent elsewhere.
    expect(name) {
      pause = PAUSES_MS.first;
      expected.set(name, { before: stateOf(name), until: Date.now() + PATIENCE_MS });
    },
    linkOf,
    mark(id) {
      opened = id;
      for (const one of find('rows').children) one.classList.toggle('open', one.dataset.id === id);
    },
  };
}
