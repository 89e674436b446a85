// Asks for documents and for files at once, as the tools do, and lists both.
function makeResults() {
  const LEVELS = { strong: 'fits well', possible: 'may fit', none: 'does not fit' };
  // What a line of markdown has in bold; in code such as `f(**a, **b)` nothing is.
  const BOLD = /\*\*(?=\S)([^*\n]*[^*\s])\*\*(?![\w*`])/;
  let asked = 0;

  // The words of a document as they are written, but for bold ones: these are shown so. Only text nodes are made.
  function wordsOf(text, isMarkdown) {
    const made = element('p', undefined, { className: 'words', dir: 'auto' });
    const parts = isMarkdown ? text.split(BOLD) : [text];
    made.append(...parts.flatMap((part, at) => (at % 2 ? [marked('strong', part)] : [...marked('span', part).childNodes])));
    return made;
  }

  function passage(where, href, label, text) {
    const made = element('div', undefined, { className: 'passage' });
    const link = element('a', where, { className: 'where', href, dir: 'auto' });
    link.setAttribute('aria-label', label);
    made.append(link, ...text);
    return made;
  }

  // "9-9" is one line.
  function linesOf(lines) {
    const [first, last] = lines.split('-');
    return first === last ? `line ${first}` : `lines ${lines}`;
  }

  function documentOf(one, at) {
    const item = element('li');
    const href = documentHref(one.id);
    const heading = element('h3');
    const link = element('a', undefined, { href, className: 'title' });
    link.append(element('bdi', one.preview));
    heading.append(link, element('span', `${Math.round(100 * one.score)} %`, { className: `match${one.score >= 0.5 ? ' strong' : ''}`, title: 'How well it fits' }));
    const date = one.date ? `, ${one.date}${one.date_from === 'file' ? ' (last change)' : ''}` : '';
    item.append(heading, element('div', `${one.path}${date}`, { className: 'under', dir: 'auto' }));
    if (one.explain) item.append(whyOf(one.explain, at + 1));
    const parts = [[one.lines, one.heading, one.snippet], ...(one.passages || []).map((two) => [two.lines, two.heading, two.text])];
    for (const [lines, heading, text] of parts) {
      const body = [];
      if (heading) body.push(element('div', heading, { className: 'under', dir: 'auto' }));
      body.push(wordsOf(text, !/\.te?xt$/i.test(one.path)));
      item.append(passage(linesOf(lines), href, `${linesOf(lines)} of ${one.preview}`, body));
    }
    if (one.context) item.append(element('p', one.context, { className: 'note', dir: 'auto' }));
    return item;
  }

  function fileOf(file, at) {
    const item = element('li');
    const heading = element('h3');
    const link = element('a', undefined, { href: `#${file.id}`, className: 'title' });
    link.append(element('bdi', file.name));
    heading.append(link, element('span', LEVELS[file.match] || file.match, { className: `match ${file.match}` }));
    item.append(heading, whyOf(file.explain, at + 1));
    for (const one of file.passages) {
      const { label } = one.locator;
      item.append(passage(label, `#${one.chunk_id.replace('#', '~')}`, `${label} of ${file.name}`, passageBody(one, Boolean(one.locator.cells))));
    }
    return item;
  }

  function showStages(name, stages) {
    const list = find(`${name}-stages`);
    list.hidden = stages.length === 0;
    const told = (one) => (one.ran ? `${one.stage}: ${one.ms.toFixed(1)} ms, ${one.note}` : `${one.stage}: not run, ${one.note}`);
    list.querySelector('ul').replaceChildren(...stages.map((one) => element('li', told(one), { dir: 'auto' })));
  }

  async function documentsFor(question) {
    const { results, metadata } = await ask('search/documents', { q: question });
    return [results.map(documentOf), results.length ? plural(results.length, 'document') + (metadata.left_out ? `, and ${metadata.left_out} for which there was no room` : '') : metadata.reason || 'No document is about it', metadata.stages || []];
  }

  async function filesFor(question) {
    const { results, reason, match, stages } = await ask('files/search', { q: question });
    return [results.map(fileOf), results.length ? `${plural(results.length, 'file')}; the best one ${LEVELS[match] || match}` : reason || 'No file is about it', stages];
  }

  async function fill(name, answering, mine) {
    find(`${name}-match`).textContent = 'Searching …';
    find(name).replaceChildren();
    showStages(name, []);
    let told;
    try {
      const [items, text, stages] = await answering;
      if (mine !== asked) return '';
      find(name).replaceChildren(...items);
      showStages(name, stages);
      told = text;
    } catch (error) {
      if (mine !== asked) return '';
      told = error.message;
    }
    find(`${name}-match`).textContent = told;
    return told;
  }

  return async (question) => {
    const mine = ++asked;
    rememberWords(question);
    find('results').hidden = !question.trim();
    if (!question.trim()) return;
    say('Searching …');
    const told = await Promise.all([fill('documents', documentsFor(question), mine), fill('files', filesFor(question), mine)]);
    if (mine === asked) say(told.join('. '));
  };
}
