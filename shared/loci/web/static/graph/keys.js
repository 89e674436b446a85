// The keyboard can do everything that the mouse can.
function watchKeys(canvas, { camera, layout, show, leave, redraw, search, panel }) {
  const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

  // The nearest point in that direction; points to the side count as farther away.
  function beside(point, [dx, dy]) {
    let best = -1;
    let nearest = Infinity;
    for (let one = 0; one < count; one++) {
      if (one === point || !isShown(one)) continue;
      const along = (layout.x[one] - layout.x[point]) * dx + (layout.y[one] - layout.y[point]) * dy;
      const aside = Math.abs((layout.x[one] - layout.x[point]) * dy - (layout.y[one] - layout.y[point]) * dx);
      const far = along + 2 * aside;
      if (along > aside * 0.5 && far < nearest) [best, nearest] = [one, far];
    }
    return best;
  }

  function step(way) {
    const next = seen.chosen < 0 ? (byDegree.find(isShown) ?? -1) : beside(seen.chosen, way);
    if (next >= 0) show(next, true);
  }

  addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement;
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping) return;
    const onCanvas = event.target === canvas || event.target === document.body;
    if (event.key === '/') search('');
    else if (event.key === 'Escape' && (panel.isOpen() || seen.chosen >= 0)) leave();
    else if (onCanvas && WAYS[event.key]) step(WAYS[event.key]);
    else if (onCanvas && event.key === 'Enter' && panel.isOpen()) find('detail').focus();
    else if (event.key === '+' || event.key === '=') camera.scale(1.25);
    else if (event.key === '-') camera.scale(0.8);
    else if (event.key === '0') camera.fit();
    else return;
    event.preventDefault();
    redraw();
  });
}
