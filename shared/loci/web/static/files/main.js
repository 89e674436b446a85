// The page: the address says which file is open, so a link leads to a passage and Back leads back.
const list = makeList();
const reader = makeReader(list);
makeSearch();
if (facts.uploads) makeUpload(list);

let cameFrom = null;

// #ds-…, #ds-…~12 for a passage, #ds-…@3~12 for one of an older version.
function follow() {
  const named = /^#(ds-[0-9a-f]+)(?:@(\d{1,6}))?(?:~(\d{1,6}))?$/.exec(location.hash);
  if (named) reader.open(named[1], named[2], named[3] === undefined ? -1 : Number(named[3]));
  else if (reader.isOpen()) {
    reader.close();
    if (cameFrom?.isConnected) cameFrom.focus();
    else find('search').focus();
  }
}

function leave() {
  history.pushState(null, '', location.pathname + location.search);
  follow();
}

addEventListener('hashchange', follow);
addEventListener('click', (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (link) cameFrom = link;
});
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
  if (event.key === '/') {
    find('search').focus();
    find('search').select();
  } else if (event.key === 'Escape' && reader.isOpen()) leave();
  else return;
  event.preventDefault();
});
find('close').addEventListener('click', leave);
follow();
