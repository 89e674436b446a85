// What is written within a line of markdown: code, bold, emphasis, what is struck out, and links by their words. All of
// it becomes elements with text in them; whatever else there is stays as it is written.
const MARKS = new RegExp(
  [
    /(`{1,3})(?!`)([^]*?[^`])\1(?!`)/, // 1, 2
    /\*\*\*(?=\S)([^*]*?\S)\*\*\*/, // 3
    /\*\*(?=\S)((?:[^*]|\*(?!\*))*?\S)\*\*/, // 4
    /__(?=\S)((?:[^_]|_(?!_))*?\S)__(?!\w)/, // 5
    /~~(?=\S)([^~]*?\S)~~/, // 6
    /\*(?=\S)([^*]*?\S)\*/, // 7
    /_(?=\S)([^_]*?\S)_(?!\w)/, // 8
    /!?\[\[([^[\]\n|]+)(?:\|([^[\]\n]+))?\]\]/, // 9, 10
    /!?\[([^[\]]+)\]\(([^()\s]+)\)/, // 11, 12
  ]
    .map((one) => one.source)
    .join('|'),
  'g',
);
const ESCAPED = /\\([!-/:-@[-`{-~])/g;
const LONGEST_INLINE = 4000;
const OUTSIDE = /^(https?:\/\/|mailto:)/i;

function linkOf(words, target) {
  if (!OUTSIDE.test(target)) return element('span', words);
  return element('a', words, { href: target, target: '_blank', rel: 'noopener noreferrer' });
}

function marked(kind, text) {
  const made = element(kind);
  made.append(...inline(text));
  return made;
}

function markOf([, , code, both, strong, strong2, struck, soft, soft2, name, label, words, target]) {
  if (code) return element('code', code);
  if (name) return element('span', label || name);
  if (words) return linkOf(words, target);
  if (both) return marked('strong', `*${both}*`);
  return marked(strong || strong2 ? 'strong' : struck ? 's' : 'em', strong || strong2 || struck || soft || soft2);
}

// The texts and elements of a line or a paragraph.
function inline(text) {
  if (text.length > LONGEST_INLINE) return [text];
  const parts = [];
  const plain = (end) => end > at && parts.push(text.slice(at, end).replace(ESCAPED, '$1'));
  const marks = new RegExp(MARKS);
  let at = 0;
  for (let found = marks.exec(text); found; found = marks.exec(text)) {
    const before = text.charAt(found.index - 1);
    const isWithin = (found[0].startsWith('_') && /\w/.test(before)) || (found[0].startsWith('`') && before === '`');
    if (before === '\\' || isWithin) {
      marks.lastIndex = found.index + 1;
      continue;
    }
    plain(found.index);
    parts.push(markOf(found));
    at = marks.lastIndex;
  }
  plain(text.length);
  return parts;
}
