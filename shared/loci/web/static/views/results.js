// Passages of documents and files, best first. A long one is cut until somebody opens it.
const LEVELS = { strong: 'fits well', possible: 'may fit', none: 'hardly fits' };

function passage(where, text, isMarkdown) {
  const words = filled('p', isMarkdown ? partsOf(text) : [text], { className: 'words', dir: 'auto' });
  const box = filled('div', [where && element('span', where, { className: 'where', dir: 'auto' }), words], { className: 'passage' });
  requestAnimationFrame(() => {
    if (words.scrollHeight > words.clientHeight + 2) box.append(unfold(box));
  });
  return box;
}

function rowOf(one) {
  const isFile = 'name' in one;
  const title = isFile ? one.name : one.preview;
  const page = isFile ? pageOf(`files#${one.id}`) : pageOf(`search#doc/${encodeURIComponent(one.id)}`);
  const open = button(title, () => openPage(page), { className: 'title', dir: 'auto', title: 'Open in Loci' });
  const mark = one.match && element('span', LEVELS[one.match], { className: `match ${one.match}` });
  const about = [one.path, one.lines && `lines ${one.lines}`, one.date].filter(Boolean).join(', ');
  const further = (one.passages || []).map((two) => passage(two.locator?.label || (two.lines && `lines ${two.lines}`), two.text, !isFile));
  return filled('li', [filled('h3', [open, mark]), about && note(about), one.snippet && passage(one.heading, one.snippet, !isFile), ...further]);
}

function show({ results, metadata = {}, reason, match }) {
  const shown = results.filter((one) => one.snippet || one.passages?.length);
  const others = results.filter((one) => !shown.includes(one)).map((one) => one.name || one.preview);
  const why = metadata.reason || reason;
  const isWeak = (metadata.match || match) === 'none' && results.length > 0;
  showParts(
    why && note(why),
    isWeak && note('Nothing fits well. This is the nearest.'),
    !results.length && !why && note('Nothing was found.'),
    filled('ol', shown.map(rowOf), { className: 'rows' }),
    others.length && note(`Also: ${others.join(', ')}`),
  );
}
