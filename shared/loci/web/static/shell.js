// The bar: its links keep the credential that the page was loaded with, and the keyboard can skip them.
for (const link of document.querySelectorAll('#places a')) link.search = location.search;
document.querySelector('#places [aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' });
find('skip')?.addEventListener('click', (event) => {
  event.preventDefault();
  event.stopPropagation();
  find('content').focus();
});
