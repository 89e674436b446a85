// What every page needs: elements with text in them, which is never read as markup.
const element = (name, text, more) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return Object.assign(made, more);
};
const find = (id) => document.getElementById(id);
// The browser's own formats take 40 ms to load their tables.
const numeral = (number) => String(number).replace(/\B(?=(?:\d{3})+$)/g, ',');
// Once what is there is painted.
const painted = () => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next)));
const plural = (number, word) => `${numeral(number)} ${word}${number === 1 ? '' : 's'}`;
// How a server has changed a tool, line by line.
const changeOf = (change) => [element('p', 'Its server changed this since it was first seen, or added it later:', { className: 'note' }), element('pre', change.difference, { tabIndex: 0, dir: 'auto' })];
