// What every page needs: elements with text in them, which is never read as markup.
const element = (name, text, more) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return Object.assign(made, more);
};
const find = (id) => document.getElementById(id);
// The tables of the browser's own formats take long to load: most numbers need none.
const numeral = (number) => (number < 1000 ? String(number) : number.toLocaleString('en'));
const plural = (number, word) => `${numeral(number)} ${word}${number === 1 ? '' : 's'}`;
