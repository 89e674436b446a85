// Shows a document's markdown with text nodes only: nothing in it becomes markup.
function readable(text) {
  const made = document.createDocumentFragment();
  const lines = text.split('\n');
  let at = 0;
  const until = (ends) => {
    const first = at;
    while (at < lines.length && !ends.test(lines[at])) at++;
    return lines.slice(first, at++).join('\n');
  };
  if (/^---\s*$/.test(lines[0])) {
    at = 1;
    const matter = until(/^(---|\.\.\.)\s*$/);
    if (at <= lines.length) {
      const folded = element('details');
      folded.append(element('summary', 'Front matter'), element('pre', matter));
      made.append(folded);
    } else at = 0;
  }
  let words = [];
  const add = (name, text, more) => {
    const one = element(name, undefined, more);
    one.append(...inline(text));
    made.append(one);
  };
  const flush = () => {
    if (words.length > 0) add('p', words.join('\n'));
    words = [];
  };
  while (at < lines.length) {
    const line = lines[at++];
    const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
    const fence = /^\s*(`{3,}|~{3,})/.exec(line);
    const item = /^(\s*)(?:[-*+]|(\d+[.)]))\s+(.*)$/.exec(line);
    if (heading || fence || item || line.trim() === '') flush();
    if (heading) add(heading[1].length < 3 ? 'h3' : 'h4', heading[2]);
    else if (fence) made.append(element('pre', until(new RegExp(`^\\s*${fence[1]}`))));
    else if (item) add('p', `${item[2] || '•'} ${item[3]}`, { className: 'item' });
    else if (line.trim() !== '') words.push(line);
  }
  flush();
  return made;
}

// The text of a document, from this page or from the server.
async function textOf(point) {
  const one = documents[point];
  if (!facts.served) return one.text;
  const answer = await fetch(`documents/${encodeURIComponent(one.id)}${location.search}`, { credentials: 'same-origin' });
  if (answer.status === 401) throw new Error('You are signed out. Load the page again to sign in.');
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error ? body.error.message : 'The text cannot be loaded now.');
  return body.text;
}
