// The documents around one: a ring for each step away, and the same as a list. Each leads on to its own neighbours.
const RINGS = { first: 96, step: 78, most: 40, label: 24 };
const cut = (text) => (text.length > RINGS.label ? `${text.slice(0, RINGS.label - 1)}…` : text);

// `explore_links` answers with links of the document that was asked for, `graph_neighbors` with documents and ways to them.
function neighboursOf(data) {
  if (!Array.isArray(data)) {
    return data.neighbors.map((one) => ({ id: one.id, title: one.title || one.id, path: one.path, far: one.distance, from: one.way.at(-2)?.id, kind: one.way.at(-1).type }));
  }
  const links = data.filter((one) => one.target);
  return [...new Map(links.map((one) => [one.target, { id: one.target, title: one.title || one.target, path: one.path, far: 1, kind: one.type }])).values()];
}

// Each document near the one that it is reached through: in the order of their parents, evenly around.
function placed(all) {
  const at = new Map();
  for (let far = 1; all.some((one) => one.far === far); far++) {
    const ring = all.filter((one) => one.far === far);
    ring.sort((one, two) => (at.get(one.from)?.turn || 0) - (at.get(two.from)?.turn || 0));
    ring.forEach((one, index) => {
      const turn = (2 * Math.PI * (index + 0.5 * (far % 2))) / ring.length;
      const radius = RINGS.first + RINGS.step * (far - 1);
      at.set(one.id, { turn, x: 1.5 * radius * Math.cos(turn), y: radius * Math.sin(turn) });
    });
  }
  return at;
}

async function lookAround(id) {
  say('Looking around');
  try {
    given = { id };
    show(await callTool('graph_neighbors', { id, depth: 1 }));
  } catch (error) {
    showParts(note(error.message, 'bad'));
  }
}

function pictureOf(center, all) {
  const at = placed(all);
  const far = Math.max(1, ...all.map((one) => one.far));
  const [width, height] = [1.5 * (RINGS.first + RINGS.step * (far - 1)) + 170, RINGS.first + RINGS.step * (far - 1) + 30];
  const made = drawnElement('svg', { viewBox: `${-width} ${-height} ${2 * width} ${2 * height}`, 'aria-hidden': 'true' });
  for (const one of all) {
    const [from, to] = [at.get(one.from) || { x: 0, y: 0 }, at.get(one.id)];
    made.append(drawnElement('line', { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: one.kind === 'similar' ? 'similar' : '' }));
  }
  const dot = (one, { x, y }, className) => {
    const part = drawnElement('g', { class: className, transform: `translate(${x} ${y})` });
    const isLeft = x < -20;
    part.append(drawnElement('circle', { r: className === 'center' ? 9 : 6 }));
    part.append(drawnElement('title', {}, one.title));
    part.append(drawnElement('text', { x: isLeft ? -10 : 10, y: className === 'center' ? -14 : 4, 'text-anchor': className === 'center' ? 'middle' : isLeft ? 'end' : 'start', dx: className === 'center' ? -10 : 0 }, cut(one.title)));
    if (className !== 'center') part.addEventListener('click', () => lookAround(one.id));
    made.append(part);
  };
  for (const one of all) dot(one, at.get(one.id), one.kind === 'similar' ? 'near' : 'linked');
  dot({ title: center }, { x: 0, y: 0 }, 'center');
  return made;
}

function show(data) {
  const center = data.id || given.id || 'this document';
  const all = neighboursOf(data);
  if (!all.length) return showParts(note(`No document is linked with ${center}.`));
  const drawn = all.slice(0, RINGS.most);
  const rows = all.map((one) => {
    const title = button(one.title, () => openPage(pageOf(`search#doc/${encodeURIComponent(one.id)}`)), { className: 'title', dir: 'auto', title: 'Open in Loci' });
    const around = button('Look around', () => lookAround(one.id), { className: 'plain' });
    return filled('li', [title, ' ', element('span', [one.kind, one.path].filter(Boolean).join(', '), { className: 'under', dir: 'auto' }), ' ', around]);
  });
  const list = filled('details', [element('summary', plural(all.length, 'document')), filled('ul', rows, { className: 'rows' })]);
  const picture = filled('div', [pictureOf(center, drawn)], { className: 'picture', tabIndex: 0 });
  showParts(picture, drawn.length < all.length && note(`The picture has the first ${drawn.length}.`), list);
  picture.scrollLeft = (picture.scrollWidth - picture.clientWidth) / 2;
  say(`${plural(all.length, 'document')} around ${center}`);
}
