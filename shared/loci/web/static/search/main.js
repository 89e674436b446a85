// The page: the address says what is read, so Back leads back. The question stays with it.
const results = makeResults();
const files = makeReader({ linkOf: () => null, mark() {} });
const documents = makeDocument();
const box = find('search');
let cameFrom = null;

// #doc/ID, #doc/ID/HEADING, #ds-…, #ds-…~12 for a passage, #ds-…@3~12 for one of an older version.
function follow() {
  const named = /^#(ds-[0-9a-f]+)(?:@(\d{1,6}))?(?:~(\d{1,6}))?$/.exec(location.hash);
  const wanted = /^#doc\/([^/]+)(?:\/(.*))?$/.exec(location.hash);
  const wasOpen = files.isOpen() || documents.isOpen();
  if (!named) files.close();
  if (!wanted) documents.close();
  if (named) files.open(named[1], named[2], named[3] === undefined ? -1 : Number(named[3]));
  else if (wanted) documents.open(decoded(wanted[1]), decoded(wanted[2] || ''));
  else if (wasOpen) (cameFrom?.isConnected ? cameFrom : box).focus();
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function search(question) {
  history.replaceState({ question }, '');
  results(question);
}

function leave() {
  history.pushState(history.state, '', location.pathname + location.search);
  follow();
}

const titles = () => [...document.querySelectorAll('.found a.title')];

addEventListener('popstate', () => {
  const question = history.state?.question;
  if (question !== undefined && question !== box.value) {
    box.value = question;
    results(question);
  }
});
addEventListener('hashchange', () => {
  if (history.state === null) history.replaceState({ question: box.value }, '');
  follow();
});
addEventListener('click', (event) => {
  const link = event.target.closest('main a[href^="#"]');
  if (link) cameFrom = link;
});
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target === box) return;
  const at = titles().indexOf(document.activeElement);
  if (event.key === '/') {
    box.focus();
    box.select();
  } else if (event.key === 'Escape' && (files.isOpen() || documents.isOpen())) leave();
  else if (event.key === 'ArrowDown' && at >= 0) titles()[at + 1]?.focus();
  else if (event.key === 'ArrowUp' && at >= 0) (titles()[at - 1] || box).focus();
  else return;
  event.preventDefault();
});
box.addEventListener('keydown', (event) => {
  if (event.key !== 'ArrowDown' || titles().length === 0) return;
  titles()[0].focus();
  event.preventDefault();
});
find('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  search(box.value);
});
for (const button of document.querySelectorAll('.close')) button.addEventListener('click', leave);
if (history.state?.question) {
  box.value = history.state.question;
  results(box.value);
}
follow();
