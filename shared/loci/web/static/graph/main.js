// The page: it reacts to pointer and keys, and draws frames while something moves.
const canvas = find('canvas');
const layout = makeLayout();
const camera = makeCamera(canvas, layout);
const drawing = makeDrawing(canvas, camera, layout);
const FRAME_MS = 12;
// While the layout is computed, at most this share of the time goes into drawing it.
const DRAWING_SHARE = 0.2;
let isDirty = true;
let restUntil = 0;

function frame() {
  const began = performance.now();
  const isGliding = camera.glide();
  let isLaying = !layout.isSettled();
  if (isLaying) {
    do layout.step();
    while (!layout.isSettled() && performance.now() - began < FRAME_MS);
    camera.follow();
    isLaying = !layout.isSettled();
    isDirty ||= !isLaying || (!calm.matches && performance.now() > restUntil);
    if (!isLaying) canvas.dataset.state = 'settled';
  }
  if (isDirty || isGliding) drawInTime(isLaying);
  isDirty = false;
  isWaiting = isLaying || isGliding;
  if (isWaiting) requestAnimationFrame(frame);
}

function drawInTime(isLaying) {
  const began = performance.now();
  drawing.draw();
  if (!isLaying) return;
  // A picture is complete when the next frame begins, because the browser paints later.
  requestAnimationFrame(() => {
    const end = performance.now();
    restUntil = end + (end - began) / DRAWING_SHARE - (end - began);
  });
}

let isWaiting = true;
function redraw() {
  isDirty = true;
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(frame);
}

function show(point, isFar) {
  // If the group of the point is hidden, show it again, also in the legend.
  if (!shown.groups[groupOf(point)]) find('groups').children[groupOf(point)].querySelector('button').click();
  if (!isThere[point]) time.toEnd();
  // Keep the focus in the panel if it is there.
  const next = find('detail').contains(document.activeElement) ? find('detail') : canvas;
  seen.chosen = point;
  panel.open(point, search);
  if (isFar) camera.look(point);
  say(`${nameOf(point)}, ${plural(degree[point], 'link')}`);
  if (isDocument(point)) remember(`#${encodeURIComponent(documents[point].id)}`);
  next.focus({ preventScroll: true });
  redraw();
}

function leave() {
  panel.close();
  seen.chosen = -1;
  remember('#');
  canvas.focus({ preventScroll: true });
  redraw();
}

function remember(hash) {
  history.replaceState(null, '', hash === '#' ? location.pathname + location.search : hash);
}

const panel = makePanel(show);
const search = makeSearch(show);
makeLegend(redraw);
const time = makeTime(redraw);

function pointAt(x, y) {
  let best = -1;
  let nearest = Infinity;
  for (let point = 0; point < count; point++) {
    if (!isShown(point)) continue;
    const [atX, atY] = camera.toScreen(layout.x[point], layout.y[point]);
    const far = Math.hypot(atX - x, atY - y) - drawing.size(point);
    if (far < nearest && far < 6) [best, nearest] = [point, far];
  }
  return best;
}

watchPointer(canvas, { camera, pointAt, show, leave, redraw, panel });
watchKeys(canvas, { camera, layout, show, leave, redraw, search, panel });

find('close').addEventListener('click', leave);
find('closer').addEventListener('click', () => (camera.scale(1.35), redraw()));
find('farther').addEventListener('click', () => (camera.scale(1 / 1.35), redraw()));
find('fit').addEventListener('click', () => (camera.fit(), redraw()));
addEventListener('resize', () => (drawing.fitToWindow(), camera.follow(), redraw()));
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => (drawing.readColours(), redraw()));

const written = picture.links.length;
find('counts').textContent =
  documents.length === 0
    ? 'There are no documents yet. Add some with: loci ingest PATH'
    : (documents.length < picture.total
        ? `The ${numeral(documents.length)} most linked of ${plural(picture.total, 'document')}`
        : plural(documents.length, 'document')) + `, ${plural(written, 'link')}`;

const wanted = documents.findIndex((one) => `#${encodeURIComponent(one.id)}` === location.hash);
// The words are painted first, then the picture begins.
painted().then(frame);
if (wanted >= 0) show(wanted, false);
