// The page: the address says what is read, so Back leads back. The question stays with it.
const results = makeResults();
const box = find('search');
const detail = makeDetail([fileOpener, documentOpener], () => box);

function search(question) {
  history.replaceState({ question }, '');
  results(question);
}

const titles = () => [...document.querySelectorAll('main .rows a.title')];

addEventListener('popstate', () => {
  const question = history.state?.question;
  if (question !== undefined && question !== box.value) {
    box.value = question;
    results(question);
  }
});
addEventListener('hashchange', () => {
  if (history.state === null) history.replaceState({ question: box.value }, '');
});
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = titles().indexOf(document.activeElement);
  if (event.target === box) {
    if (event.key !== 'ArrowDown' || titles().length === 0) return;
    titles()[0].focus();
  } else if (event.key === '/') {
    box.focus();
    box.select();
  } else if (event.key === 'ArrowDown' && at >= 0) titles()[at + 1]?.focus();
  else if (event.key === 'ArrowUp' && at >= 0) (titles()[at - 1] || box).focus();
  else return;
  event.preventDefault();
});
find('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  search(box.value);
});
if (history.state?.question) {
  box.value = history.state.question;
  results(box.value);
}
detail.follow();
