// The bar: its links keep the credential that the page was loaded with, and the keyboard can skip them.
for (const link of document.querySelectorAll('#mark, #places a')) link.search = new URLSearchParams(credential());
document.querySelector('#places [aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' });
find('skip')?.addEventListener('click', (event) => {
  event.preventDefault();
  event.stopPropagation();
  find('content').focus();
});

// The place on the page that a sign-in was on the way to.
function takePlace() {
  const kept = JSON.parse(sessionStorage.getItem('loci-place'));
  if (!kept || !location.pathname.endsWith(`/ui/${kept.page}`)) return;
  sessionStorage.removeItem('loci-place');
  if (!location.hash) history.replaceState(history.state, '', kept.hash);
}
try {
  takePlace();
} catch {
  // A page that is a file may have no storage.
}
