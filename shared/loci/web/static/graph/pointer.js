// Mouse and touch: drag to move, wheel or pinch to zoom, click to read.
function watchPointer(canvas, { camera, pointAt, show, leave, redraw, panel }) {
  const tip = find('tip');
  const down = new Map();
  let moved = 0;

  function hint(point, x, y) {
    tip.hidden = point < 0;
    if (point < 0) return;
    const one = documents[point];
    const lines = one ? [one.path, one.tags.map((tag) => `#${tag}`).join(' ')] : ['This document does not exist yet'];
    tip.replaceChildren(
      element('b', nameOf(point), { dir: 'auto' }),
      ...lines.filter(Boolean).map((line) => element('small', line, { dir: 'auto' })),
    );
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    tip.style.top = `${Math.max(8, y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18)}px`;
  }

  function hover(x, y) {
    const point = x === null ? -1 : pointAt(x, y);
    hint(point, x, y);
    if (point === seen.over) return;
    seen.over = point;
    canvas.classList.toggle('over', point >= 0);
    redraw();
  }

  const spread = () => {
    const [one, two] = [...down.values()];
    return { far: Math.hypot(one.x - two.x, one.y - two.y), x: (one.x + two.x) / 2, y: (one.y + two.y) / 2 };
  };

  canvas.addEventListener('pointerdown', (event) => {
    canvas.setPointerCapture(event.pointerId);
    if (down.size === 0) moved = 0;
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
  });
  canvas.addEventListener('pointermove', (event) => {
    const before = down.get(event.pointerId);
    if (!before) {
      hover(event.clientX, event.clientY);
      return;
    }
    const old = down.size === 2 ? spread() : null;
    down.set(event.pointerId, { x: event.clientX, y: event.clientY });
    moved += Math.hypot(event.clientX - before.x, event.clientY - before.y);
    if (moved < 4) return;
    hover(null);
    canvas.classList.add('moving');
    if (old) {
      const now = spread();
      camera.move(now.x - old.x, now.y - old.y);
      camera.scale(now.far / (old.far || 1), now.x, now.y);
    } else if (down.size === 1) camera.move(event.clientX - before.x, event.clientY - before.y);
    redraw();
  });
  const lift = (event) => {
    const isClick = down.delete(event.pointerId) && event.type === 'pointerup' && moved < 4;
    if (down.size === 0) canvas.classList.remove('moving');
    if (!isClick) return;
    const point = pointAt(event.clientX, event.clientY);
    if (point >= 0) show(point, false);
    else if (panel.isOpen()) leave();
  };
  canvas.addEventListener('pointerup', lift);
  canvas.addEventListener('pointercancel', lift);
  canvas.addEventListener('pointerleave', () => hover(null));
  canvas.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
      camera.scale(Math.exp(-Math.max(-200, Math.min(pixels, 200)) * 0.0022), event.clientX, event.clientY);
      redraw();
    },
    { passive: false },
  );
}
