// A large library is asked for once the page is painted.
async function pictured() {
  if (!facts.isLater) return facts;
  find('counts').textContent = 'Looking at your documents …';
  await painted();
  try {
    return await ask('graph/picture');
  } catch {
    find('counts').textContent = 'Loci cannot show your documents now. Load the page again in a minute.';
    return new Promise(() => {}); // nothing to go on with
  }
}

// The data of the graph: documents first, then missing documents. A point is an index into these two lists.
const picture = await pictured();
const documents = picture.documents;
const missing = picture.missing;
const count = documents.length + missing.length;
const isDocument = (point) => point < documents.length;
const nameOf = (point) => (isDocument(point) ? documents[point].title : missing[point - documents.length][0]);

// [from, to, relation]: the written links, then the links to missing documents.
const links = picture.links.concat(
  missing.flatMap(([, by], at) => by.map((from) => [from, documents.length + at, 'missing'])),
);
const around = Array.from({ length: count }, () => []);
for (const link of links) {
  around[link[0]].push(link);
  around[link[1]].push(link);
}
const gapsOf = Array.from({ length: documents.length }, () => []);
for (const gap of picture.gaps) {
  gapsOf[gap[0]].push(gap);
  gapsOf[gap[1]].push(gap);
}
const other = (link, point) => (link[0] === point ? link[1] : link[0]);
const degree = around.map((some) => some.length);
const radius = degree.map((links, point) => (isDocument(point) ? 3.2 + 1.5 * Math.sqrt(Math.min(links, 64)) : 3));
const byDegree = Array.from({ length: count }, (_, point) => point).sort((a, b) => degree[b] - degree[a] || a - b);

const COLOURS = 10;
const groupOf = (point) => (isDocument(point) ? documents[point].group : documents[missing[point - documents.length][1][0]].group);
const colourName = (group) => (group < COLOURS ? `--g${group}` : '--other');

// The visible layers. Too many missing documents would hide the others.
const shown = {
  groups: picture.groups.map(() => true),
  missing: missing.length <= Math.max(40, documents.length / 2),
  gaps: true,
};

// The days of the documents, and which points are there on the chosen day. What has no day is always there.
const days = [...new Set(documents.map((one) => one.date).filter(Boolean))].sort();
const isThere = new Uint8Array(count).fill(1);
function goToDay(day) {
  documents.forEach((one, point) => (isThere[point] = !day || !one.date || one.date <= day ? 1 : 0));
  missing.forEach(([, by], at) => (isThere[documents.length + at] = by.some((point) => isThere[point]) ? 1 : 0));
}
const isShown = (point) => isThere[point] === 1 && shown.groups[groupOf(point)] && (isDocument(point) || shown.missing);

const seen = { over: -1, chosen: -1 };
