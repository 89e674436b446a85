// A passage: its place, the headings above it, and its text with the words that were asked for.
let wantedWords = [];

// Cuts the text at the wanted words. Only text nodes are made of it.
function marked(name, text, more) {
  const made = element(name, undefined, more);
  const plain = text.toLowerCase();
  // A few letters change their length in lower case: then their places would be wrong.
  const words = plain.length === text.length ? wantedWords : [];
  let from = 0;
  for (;;) {
    let first = -1;
    let length = 0;
    for (const word of words) {
      const at = plain.indexOf(word, from);
      if (at >= 0 && (first < 0 || at < first || (at === first && word.length > length))) [first, length] = [at, word.length];
    }
    if (first < 0) break;
    made.append(text.slice(from, first), element('mark', text.slice(first, first + length)));
    from = first + length;
  }
  made.append(text.slice(from));
  return made;
}

function cellsOf(text) {
  const table = element('table', undefined, { className: 'cells' });
  const body = element('tbody');
  for (const line of text.split('\n')) {
    const row = element('tr');
    row.append(...line.split(' | ').map((cell) => marked('td', cell, { dir: 'auto', title: cell.length > 40 ? cell : '' })));
    body.append(row);
  }
  table.append(body);
  return table;
}

function passageBody(passage, isTable) {
  const parts = [];
  const above = Array.isArray(passage.heading) ? passage.heading.join(' > ') : passage.heading;
  if (above) parts.push(element('div', above, { className: 'under', dir: 'auto' }));
  const columns = passage.columns ? `${passage.columns}\n` : '';
  parts.push(isTable ? cellsOf(columns + passage.text) : marked('p', passage.text, { className: 'words', dir: 'auto' }));
  return parts;
}
