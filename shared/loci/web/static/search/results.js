// Asks for documents and files at once, and shows them in one list: those that fit better first.
function makeResults() {
  const LEVELS = { strong: 'fits well', possible: 'may fit', none: 'hardly fits' };
  const KINDS = { all: ['All', 'result'], document: ['Documents', 'document'], file: ['Files', 'file'] };
  const AT_FIRST = 10;
  const CUT = 'p.words:not(.whole), .cells:not(.whole)';
  const more = find('more');
  let asked = 0;
  let question = '';
  let found = { results: [], about: {} };
  let kind = 'all';
  let isLong = false; // all that fit are shown, not only the first ones
  let isWeak = false; // also what hardly fits

  function wordsOf(text, isMarkdown, className) {
    return filled('p', isMarkdown ? partsOf(text, marked) : [marked('span', text)], { className, dir: 'auto' });
  }

  // A passage from the line on that has most of the words of the question: two lines of it are shown.
  function beginningOf(text) {
    const lines = text.split('\n').filter((line) => line.trim() && !/^\s*(?:```|~~~)/.test(line));
    const had = lines.map((line) => wantedWords.filter((word) => line.toLowerCase().includes(word)).length);
    const best = Math.max(0, had.indexOf(Math.max(...had)));
    return (best > 0 ? '… ' : '') + lines.slice(best).join(' ');
  }

  function textOf(text, isMarkdown) {
    return [wordsOf(beginningOf(text), isMarkdown, 'words'), wordsOf(text, isMarkdown, 'words whole')];
  }

  function passage(where, href, label, text, isFurther) {
    return filled('div', [element('a', where, { className: 'where', href, dir: 'auto', ariaLabel: label }), ...text], { className: `passage${isFurther ? ' whole' : ''}` });
  }

  // "9-9" is one line.
  function linesOf(lines) {
    const [first, last] = lines.split('-');
    return first === last ? `line ${first}` : `lines ${lines}`;
  }

  // The whole of what was found in it, and why it is here: each behind a button.
  function actsOf(item, one, place) {
    const why = button('Why here?', () => {
      const isOpen = !item.querySelector('.reasons');
      if (isOpen) item.append(reasonsOf(one, place));
      else item.querySelector('.reasons').remove();
      why.setAttribute('aria-expanded', String(isOpen));
    }, { className: 'plain' });
    why.setAttribute('aria-expanded', 'false');
    return filled('div', [unfold(item), why], { className: 'acts' });
  }

  function reasonsOf(one, place) {
    const told = ({ stage, ran, ms, note: said }) => (ran ? `${stage}: ${ms.toFixed(1)} ms, ${said}` : `${stage}: not run, ${said}`);
    const stages = found.about[one.kind].stages.map((stage) => element('li', told(stage), { dir: 'auto' }));
    const score = `It ${LEVELS[one.match]}, with a score of ${Math.round(100 * one.score)} %. Its best passage among the ${one.kind}s:`;
    return filled('div', [note(score), whyOf(one.explain, place), note(`How ${one.kind}s were searched:`), filled('ul', stages, { className: 'stages' })], { className: 'reasons' });
  }

  function rowFor(one, title, href, about, passages) {
    const item = rowOf({ id: one.id, title, href, mark: LEVELS[one.match], kind: one.match }, about, ...passages);
    const place = found.results.filter((two) => two.kind === one.kind).indexOf(one) + 1;
    item.append(actsOf(item, one, place));
    return item;
  }

  function documentOf(one) {
    const href = documentHref(one.id);
    const date = one.date && `${one.date}${['file', 'git'].includes(one.date_from) ? ' (last change)' : ''}`;
    const passages = [[one.lines, one.heading, one.snippet], ...(one.passages || []).map((two) => [two.lines, two.heading, two.text])].filter(([, , text]) => text);
    const shown = passages.map(([lines, heading, text], at) => {
      const body = [heading && element('span', heading, { className: 'under', dir: 'auto' }), ...textOf(text, !/\.te?xt$/i.test(one.path))];
      return passage(linesOf(lines), href, `${linesOf(lines)} of ${one.preview}`, body, at > 0);
    });
    return rowFor(one, one.preview, href, [one.path, date, one.owner && `shared by ${one.owner}`].filter(Boolean).join(', '), [...shown, one.context && note(one.context)]);
  }

  function fileOf(file) {
    const shown = file.passages.map((one, at) => {
      const { label, cells } = one.locator;
      const above = one.heading && element('span', one.heading, { className: 'under', dir: 'auto' });
      const body = cells ? passageBody(one, true) : [above, ...textOf(one.text, false)];
      return passage(label, `#${one.chunk_id.replace('#', '~')}`, `${label} of ${file.name}`, body, at > 0);
    });
    return rowFor(file, file.name, `#${file.id}`, `File${file.path ? `, ${file.path}` : ''}`, shown);
  }

  const ofKind = () => found.results.filter((one) => kind === 'all' || one.kind === kind);
  const isFit = (one) => one.match !== 'none';

  function showKinds() {
    const make = (name) => {
      const number = found.results.filter((one) => isFit(one) && (name === 'all' || one.kind === name)).length;
      const made = button(`${KINDS[name][0]} ${number}`, () => {
        [kind, isLong, isWeak] = [name, false, false];
        show();
        find('kinds').querySelector('[aria-pressed="true"]').focus();
      }, { className: 'chip' });
      made.setAttribute('aria-pressed', String(name === kind));
      return made;
    };
    find('kinds').replaceChildren(...Object.keys(KINDS).map(make));
    find('kinds').hidden = found.results.length === 0;
  }

  function notesOf() {
    const told = Object.values(found.about).flatMap((one) => [
      (one.matters || !found.results.some(isFit)) && one.reason,
      one.left_out > 0 && `There was no room for ${plural(one.left_out, 'more document')}`,
      ...one.stages.filter((stage) => stage.failed).map((stage) => `Searched without ${stage.stage}: ${stage.note}`),
    ]);
    return [...new Set(told.filter(Boolean))];
  }

  function show() {
    const some = ofKind();
    const fit = some.filter(isFit);
    const shown = isWeak ? some : isLong ? fit : fit.slice(0, AT_FIRST);
    const weak = some.length - fit.length;
    showKinds();
    find('results').replaceChildren(...shown.map((one) => (one.kind === 'file' ? fileOf(one) : documentOf(one))));
    // Only where something is cut there is more to show.
    for (const item of find('results').children) {
      const isCut = item.querySelector('.passage.whole') || [...item.querySelectorAll(CUT)].some((one) => one.scrollHeight > one.clientHeight + 1 || one.textContent.startsWith('… ') || one.rows?.length > 3);
      item.querySelector('.plain').hidden = !isCut;
    }
    const counts = fit.length ? plural(fit.length, KINDS[kind][1]) : `Nothing ${kind === 'all' ? '' : `among the ${kind}s `}fits “${question}”. Try fewer words, other words, or a name as it is written.`;
    find('counts').textContent = counts;
    find('counts').hidden = fit.length > 0; // the buttons above say it
    find('notes').replaceChildren(...notesOf().map((one) => note(one)));
    const rest = fit.length - shown.length;
    more.textContent = rest > 0 ? 'Show more' : `${plural(weak, 'weaker result')}: Show`;
    more.hidden = rest <= 0 && (isWeak || weak === 0);
    detail.mark();
    return counts;
  }

  more.addEventListener('click', () => {
    const from = find('results').children.length;
    if (ofKind().filter(isFit).length > from) isLong = true;
    else isWeak = true;
    show();
    find('results').children[from]?.querySelector('a').focus();
  });

  function clear(text) {
    [found, kind, isLong, isWeak] = [{ results: [], about: {} }, 'all', false, false];
    for (const name of ['kinds', 'more']) find(name).hidden = true;
    for (const name of ['results', 'notes']) find(name).replaceChildren();
    find('counts').textContent = text;
    find('counts').hidden = false;
  }

  return async (wanted) => {
    const mine = ++asked;
    question = wanted.trim();
    find('examples').hidden = Boolean(question) || facts.examples.length === 0;
    clear(question ? 'Searching …' : find('examples').hidden ? 'Documents and files, by words and by meaning' : 'Documents and files, by words and by meaning. For example:');
    if (!question) return;
    say('Searching …');
    try {
      const answer = await ask('search/results', { q: question });
      if (mine !== asked) return;
      found = answer;
      wantedWords = answer.words;
      say(show());
    } catch (error) {
      if (mine === asked) find('counts').textContent = error.message;
    }
  };
}
