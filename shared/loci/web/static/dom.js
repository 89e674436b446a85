// What every page needs: elements with text in them, which is never read as markup.
const element = (name, text, more) => {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  return Object.assign(made, more);
};
const find = (id) => document.getElementById(id);
const plural = (number, word) => `${number.toLocaleString('en')} ${word}${number === 1 ? '' : 's'}`;
