// What markdown has as code, in bold, as a link, or as a link of a wiki; in code such as `f(**a, **b)` nothing is bold.
const WRITTEN = /`([^`\n]+)`|\*\*(?=\S)((?:[^*\n]|\n(?!\s*\n))*[^*\s])\*\*(?![\w*`])|\[`?([^\][\n]+?)`?\]\([^()\s]*\)|\[\[(?:[^\][\n|]*\|)?([^\][\n|]+)\]\]/;
const TAGS = ['span', 'code', 'strong', 'span', 'span'];
// The button that shows the whole of what is cut in a box, and cuts it again.
function unfold(box) {
  const made = button('Show more', () => {
    const isOpen = box.classList.toggle('whole');
    made.textContent = isOpen ? 'Show less' : 'Show more';
    made.setAttribute('aria-expanded', String(isOpen));
  }, { className: 'plain' });
  made.setAttribute('aria-expanded', 'false');
  return made;
}
// The words as they are written, but for these. Only text nodes are made.
const partsOf = (text, made = element) => text.split(WRITTEN).map((part, at) => part && made(TAGS[at % TAGS.length], part));
