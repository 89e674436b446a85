// The page: the address says which tool is open, so Back leads back.
const servers = makeServers();
const tool = makeTool(() => servers.refreshCalls().catch(() => {}), servers.show);
let cameFrom = null;

// #tool/SERVER:NAME
function follow() {
  const wanted = /^#tool\/(.+)$/.exec(location.hash);
  for (const one of document.querySelectorAll('#servers details li')) one.classList.toggle('open', Boolean(wanted) && one.querySelector('a')?.hash === location.hash);
  if (wanted) {
    try {
      tool.open(decodeURIComponent(wanted[1]));
    } catch {
      tool.open(wanted[1]);
    }
  } else if (tool.isOpen()) {
    tool.close();
    (cameFrom?.isConnected ? cameFrom : find('content')).focus();
  }
}

function leave() {
  history.pushState(null, '', location.pathname + location.search);
  follow();
}

addEventListener('hashchange', follow);
addEventListener('click', (event) => {
  const link = event.target.closest('a[href^="#tool/"]');
  if (link) cameFrom = link;
});
addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !tool.isOpen()) return;
  leave();
  event.preventDefault();
});
find('close').addEventListener('click', leave);
follow();
