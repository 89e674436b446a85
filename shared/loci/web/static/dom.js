// What every page needs: elements with text in them, which is never read as markup.
const element = (name, text, more) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return Object.assign(made, more);
};
const find = (id) => document.getElementById(id);
// An element with these parts in it. Those that are nothing are left out.
const filled = (name, parts, more) => {
  const made = element(name, undefined, more);
  made.append(...parts.filter(Boolean));
  return made;
};
const note = (text, className = 'note') => element('p', text, { className, dir: 'auto' });
const chips = (label, texts) => {
  const made = filled('ul', texts.map((one) => element('li', one, { className: 'chip', dir: 'auto' })), { className: 'chips' });
  made.setAttribute('aria-label', label);
  return made;
};
// A long text under its name, which the keyboard can scroll.
const longText = (name, text) => {
  const box = element('pre', text, { dir: 'auto', tabIndex: 0 });
  box.setAttribute('role', 'region');
  box.setAttribute('aria-label', name);
  return [element('h3', name), box];
};
const button = (text, act, more) => {
  const made = element('button', text, { type: 'button', className: 'act', ...more });
  made.addEventListener('click', act);
  return made;
};
// The browser's own formats take 40 ms to load their tables.
const numeral = (number) => String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');
const plural = (number, word) => `${numeral(number)} ${word}${number === 1 ? '' : 's'}`;
// Once what is there is painted.
const painted = () => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
