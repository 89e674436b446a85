// The page: the address says what is asked and what is read, so a link leads there, and Back leads back.
const results = makeResults();
const box = find('search');
const detail = makeDetail([fileOpener, documentOpener], () => box);
let current = null;

const inAddress = () => new URLSearchParams(location.search).get('q') || '';

function follow() {
  if (inAddress() === current) return;
  current = inAddress();
  box.value = current;
  results(current);
}

// A new question closes what is read.
function search(question) {
  const to = new URL(location.href);
  to.hash = '';
  if (question.trim()) to.searchParams.set('q', question);
  else to.searchParams.delete('q');
  if (to.href === location.href) current = null; // once more
  else history.pushState(null, '', to);
  detail.follow();
  follow();
}

const titles = () => [...document.querySelectorAll('main .rows a.title')];

addEventListener('popstate', follow);
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
find('examples').append(...facts.examples.map((one) => filled('li', [button(one, () => search(one), { className: 'chip', dir: 'auto' })])));
follow();
detail.follow();
