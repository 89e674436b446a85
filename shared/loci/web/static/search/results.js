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
    return filled('div', [element('a', where, { className: 'where', href, dir: 'auto', ariaLabel: label }), ...text], { className: 'passage' });
  }

  // "9-9" is one line.
  function linesOf(lines) {
    const [first, last] = lines.split('-');
    return first === last ? `line ${first}` : `lines ${lines}`;
  }

  function documentOf(one, at) {
    const href = documentHref(one.id);
    const date = one.date ? `, ${one.date}${['file', 'git'].includes(one.date_from) ? ' (last change)' : ''}` : '';
    const passages = [[one.lines, one.heading, one.snippet], ...(one.passages || []).map((two) => [two.lines, two.heading, two.text])];
    const shown = passages.map(([lines, heading, text]) => {
      const body = [heading && element('div', heading, { className: 'under', dir: 'auto' }), wordsOf(text, !/\.te?xt$/i.test(one.path))];
      return passage(linesOf(lines), href, `${linesOf(lines)} of ${one.preview}`, body);
    });
    const mark = `${Math.round(100 * one.score)} %`;
    return rowOf({ id: one.id, title: one.preview, href, mark, kind: one.score >= 0.5 ? 'strong' : '' }, `${one.path}${date}`, one.explain && whyOf(one.explain, at + 1), ...shown, one.context && note(one.context));
  }

  function fileOf(file, at) {
    const shown = file.passages.map((one) => {
      const { label } = one.locator;
      return passage(label, `#${one.chunk_id.replace('#', '~')}`, `${label} of ${file.name}`, passageBody(one, Boolean(one.locator.cells)));
    });
    return rowOf({ id: file.id, title: file.name, href: `#${file.id}`, mark: LEVELS[file.match] || file.match, kind: file.match }, whyOf(file.explain, at + 1), ...shown);
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
