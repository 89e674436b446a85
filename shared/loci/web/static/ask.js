// Asks this server, with the credential that the page was loaded with. A change carries the token of the page.
const facts = JSON.parse(find('facts').textContent);
const formToken = document.querySelector('meta[name="loci-form"]').content;

function address(path, query = {}) {
  const asked = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) asked.set(name, value);
  const text = asked.toString();
  return document.body.dataset.root + (text ? `${path}?${text}` : path);
}

async function ask(path, query, sent, headers = {}) {
  const how = { credentials: 'same-origin' };
  if (sent) Object.assign(how, { method: 'POST', body: JSON.stringify(sent), headers: { 'Content-Type': 'application/json', 'X-Loci-Form': formToken, ...headers } });
  const answer = await fetch(address(path, query), how).catch(() => null);
  if (!answer) throw new Error('The server cannot be reached. Try again.');
  if (answer.status === 401) throw new Error('You are signed out. Load the page again to sign in.');
  if (answer.status === 403) throw new Error('This page is too old. Load it again.');
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) {
    const error = new Error(body.error ? body.error.message : 'Loci cannot answer now. Try again in a minute.');
    throw Object.assign(error, { answer: body });
  }
  return body;
}

const say = (text) => {
  find('said').textContent = text;
};
