// Makes the elements of a document. Only these are made, with text in them; nothing of a document is read as markup.
const MADE = new Set(['p', 'ul', 'ol', 'li', 'blockquote', 'hr', 'br', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'em', 'strong', 's', 'code', 'pre']);
const HEADINGS = { h1: 'h3', h2: 'h4', h3: 'h5', h4: 'h6', h5: 'h6', h6: 'h6' };
const OUTSIDE = new Set(['http:', 'https:', 'mailto:']);

const documentHref = (id, part) => `#doc/${encodeURIComponent(id)}${part ? `/${encodeURIComponent(part)}` : ''}`;
// A heading as links to it are written: `#my-part`, or `#My part`.
const partName = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '');

function outside(text) {
  try {
    const address = new URL(text);
    return OUTSIDE.has(address.protocol) ? address.href : null;
  } catch {
    return null;
  }
}

function linkOf(attributes, own) {
  const url = attributes.url && outside(attributes.url);
  if (url) return element('a', undefined, { href: url, target: '_blank', rel: 'noopener noreferrer' });
  const to = attributes.to || (attributes.part && own);
  if (to) return element('a', undefined, { href: documentHref(to, attributes.part) });
  if (attributes.missing) return element('span', undefined, { className: 'missing', title: 'This document does not exist' });
  return element('span');
}

// `own`: the id of the document.
function elementOf(node, own) {
  if (typeof node === 'string') return document.createTextNode(node);
  const [name, attributes, ...inside] = node;
  const made = name === 'a' ? linkOf(attributes, own) : element(HEADINGS[name] || (MADE.has(name) ? name : 'span'));
  if (name === 'ol' && attributes.start) made.start = attributes.start;
  if (name === 'pre' || name === 'table') made.tabIndex = 0;
  if (attributes.picture) made.append('Picture: ');
  made.append(...inside.map((one) => elementOf(one, own)));
  if (HEADINGS[name]) made.dataset.part = partName(made.textContent);
  return made;
}
