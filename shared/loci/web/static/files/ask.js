// Asks this server, with the credential that the page was loaded with.
const facts = JSON.parse(find('facts').textContent);

function address(path, query = {}) {
  const asked = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) asked.set(name, value);
  const text = asked.toString();
  return text ? `${path}?${text}` : path;
}

async function ask(path, query, sent) {
  const how = { credentials: 'same-origin' };
  if (sent) Object.assign(how, { method: 'POST', body: JSON.stringify(sent), headers: { 'Content-Type': 'application/json' } });
  const answer = await fetch(address(path, query), how).catch(() => null);
  if (!answer) throw new Error('The server cannot be reached. Try again.');
  if (answer.status === 401) throw new Error('You are signed out. Load the page again to sign in.');
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error ? body.error.message : 'Loci cannot answer now. Try again in a minute.');
  return body;
}

const say = (text) => {
  find('said').textContent = text;
};

function sizeOf(bytes) {
  if (bytes < 1000) return plural(bytes, 'byte');
  const units = ['bytes', 'KB', 'MB', 'GB'];
  let at = 0;
  let number = bytes;
  while (number >= 1000 && at < units.length - 1) {
    number /= 1000;
    at++;
  }
  return `${number.toLocaleString('en', { maximumFractionDigits: number < 10 && at > 0 ? 1 : 0 })} ${units[at]}`;
}

function dayOf(time) {
  const made = element('time', new Date(time).toLocaleDateString('en', { year: 'numeric', month: 'short', day: 'numeric' }));
  made.dateTime = time;
  made.title = time;
  return made;
}
