// Asks this server, with the credential that the page was loaded with. A change carries the token of the page.
const facts = JSON.parse(find('facts').textContent);
const formToken = document.querySelector('meta[name="loci-form"]').content;
// The credential that the page was loaded with, if its address has one: its links and requests keep it.
const credential = () => [...new URLSearchParams(location.search)].filter(([name]) => name === 'apikey');

function address(path, query = {}) {
  const [page, part] = path.split('?');
  const asked = new URLSearchParams(credential());
  for (const [name, value] of [...new URLSearchParams(part), ...Object.entries(query)]) if (value !== undefined) asked.set(name, value);
  const text = asked.toString();
  return document.body.dataset.root + (text ? `${page}?${text}` : page);
}

async function ask(path, query, sent) {
  const how = { credentials: 'same-origin' };
  if (sent) Object.assign(how, { method: 'POST', body: JSON.stringify(sent), headers: { 'Content-Type': 'application/json', 'X-Loci-Form': formToken } });
  const answer = await fetch(address(path, query), how).catch(() => null);
  if (!answer) throw new Error('The server cannot be reached. Try again.');
  if (answer.status === 401) throw new Error('You are signed out. Load the page again to sign in.');
  if (answer.status === 403) throw new Error('This page is too old. Load it again.');
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error ? body.error.message : 'Loci cannot answer now. Try again in a minute.');
  return body;
}

const say = (text) => {
  find('said').textContent = text;
};
