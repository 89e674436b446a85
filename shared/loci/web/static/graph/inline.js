// What is written within a line of markdown: code, bold, emphasis, what is struck out, and links by their words. All of
// it becomes elements with text in them; whatever else there is stays as it is written.
const MARKS = new RegExp(
  [
    /(`+)([^`]+)\1(?!`)/, // 1, 2
    /\*\*(?=\S)((?:[^*]|\*(?!\*))*?\S)\*\*/, // 3
    /(?<!\w)__(?=\S)((?:[^_]|_(?!_))*?\S)__(?!\w)/, // 4
    /~~(?=\S)([^~]*?\S)~~/, // 5
    /\*(?=\S)([^*]*?\S)\*/, // 6
    /(?<!\w)_(?=\S)([^_]*?\S)_(?!\w)/, // 7
    /!?\[\[([^[\]\n|]+)(?:\|([^[\]\n]+))?\]\]/, // 8, 9
    /!?\[([^[\]]+)\]\(([^()\s]+)\)/, // 10, 11
  ]
    .map((one) => one.source)
    .join('|'),
  'g',
);
const LONGEST_INLINE = 4000;
const OUTSIDE = /^(https?:\/\/|mailto:)/i;

function linkOf(words, target) {
  if (!OUTSIDE.test(target)) return element('span', words);
  return element('a', words, { href: target, target: '_blank', rel: 'noopener noreferrer' });
}

function markOf([, , code, strong, strong2, struck, soft, soft2, name, label, words, target]) {
  if (code) return element('code', code);
  if (name) return element('span', label || name);
  if (words) return linkOf(words, target);
  const made = element(strong || strong2 ? 'strong' : struck ? 's' : 'em');
  made.append(...inline(strong || strong2 || struck || soft || soft2));
  return made;
}

// The texts and elements of a line or a paragraph.
function inline(text) {
  if (text.length > LONGEST_INLINE) return [text];
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(MARKS)) {
    if (found.index > at) parts.push(text.slice(at, found.index));
    parts.push(markOf(found));
    at = found.index + found[0].length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}
