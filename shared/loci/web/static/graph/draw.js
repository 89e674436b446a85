// The picture on the canvas.
function makeDrawing(canvas, camera, layout) {
  const context = canvas.getContext('2d');
  const size = (point) => radius[point] * Math.min(Math.sqrt(camera.now.zoom), 2);
  const labels = makeLabels(context, camera, layout, size);
  let colours = {};

  // A canvas knows no variables, but the element resolves one.
  function readColours() {
    const read = (name) => {
      canvas.style.color = `var(${name})`;
      return getComputedStyle(canvas).color;
    };
    colours = { groups: picture.groups.map((_, group) => read(colourName(group))) };
    for (const name of ['paper', 'ink', 'edge', 'muted', 'accent', 'gap']) colours[name] = read(`--${name}`);
  }

  function fitToWindow() {
    const sharp = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.round(innerWidth * sharp);
    canvas.height = Math.round(innerHeight * sharp);
    context.setTransform(sharp, 0, 0, sharp, 0, 0);
  }

  function line(a, b) {
    const [fromX, fromY] = camera.toScreen(layout.x[a], layout.y[a]);
    const [toX, toY] = camera.toScreen(layout.x[b], layout.y[b]);
    context.moveTo(fromX, fromY);
    context.lineTo(toX, toY);
  }

  function lines(some, colour, alpha, wide, dash) {
    context.beginPath();
    for (const [a, b] of some) if (isShown(a) && isShown(b)) line(a, b);
    context.setLineDash(dash || []);
    context.strokeStyle = colour;
    context.globalAlpha = alpha;
    context.lineWidth = wide;
    context.stroke();
    context.setLineDash([]);
  }

  // An arrow at the far end of a link of the selected document.
  function arrow([a, b]) {
    const [fromX, fromY] = camera.toScreen(layout.x[a], layout.y[a]);
    const [toX, toY] = camera.toScreen(layout.x[b], layout.y[b]);
    const far = Math.hypot(toX - fromX, toY - fromY);
    const gap = size(b) + 3;
    if (far < gap + 14) return;
    const [dx, dy] = [(toX - fromX) / far, (toY - fromY) / far];
    const [tipX, tipY] = [toX - dx * gap, toY - dy * gap];
    context.beginPath();
    context.moveTo(tipX, tipY);
    context.lineTo(tipX - dx * 8 - dy * 3.4, tipY - dy * 8 + dx * 3.4);
    context.lineTo(tipX - dx * 8 + dy * 3.4, tipY - dy * 8 - dx * 3.4);
    context.fill();
  }

  // Draws all dots of one kind at once: with 2,000 dots, single calls would take most of a frame.
  function dots(some, fill, line, dash) {
    context.beginPath();
    for (const point of some) {
      const [x, y] = camera.toScreen(layout.x[point], layout.y[point]);
      if (x < -20 || y < -20 || x > innerWidth + 20 || y > innerHeight + 20) continue;
      const round = Math.max(size(point), 1.4);
      context.moveTo(x + round, y);
      context.arc(x, y, round, 0, 2 * Math.PI);
    }
    context.fillStyle = fill;
    context.fill();
    context.setLineDash(dash);
    context.strokeStyle = line;
    context.lineWidth = Math.min(1.2, camera.now.zoom * 2);
    context.stroke();
    context.setLineDash([]);
  }

  function crowd(isIn) {
    const ghosts = [];
    const groups = picture.groups.map(() => []);
    for (const point of byDegree) {
      if (isShown(point) && isIn(point)) (isDocument(point) ? groups[groupOf(point)] : ghosts).push(point);
    }
    dots(ghosts, colours.paper, colours.muted, [2.4, 2]);
    groups.forEach((some, group) => some.length > 0 && dots(some, colours.groups[group], colours.paper, []));
  }

  function ring(point) {
    const [x, y] = camera.toScreen(layout.x[point], layout.y[point]);
    context.beginPath();
    context.arc(x, y, size(point) + 4, 0, 2 * Math.PI);
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.stroke();
  }

  const written = links.filter((link) => link[2] !== 'missing');
  const toMissing = links.filter((link) => link[2] === 'missing');

  function draw() {
    context.clearRect(0, 0, innerWidth, innerHeight);
    const focus = [seen.chosen, seen.over].filter((point, at, all) => point >= 0 && all.indexOf(point) === at);
    const mine = focus.flatMap((point) => around[point]);
    const near = new Set(mine.flatMap((link) => [link[0], link[1]]));
    for (const point of focus) {
      near.add(point);
      if (shown.gaps && isDocument(point)) for (const gap of gapsOf[point]) near.add(other(gap, point));
    }
    const dim = focus.length > 0 ? 0.28 : 1;
    const thin = Math.min(Math.max(camera.now.zoom, 0.5), 1.3);
    lines(written, colours.edge, (written.length > 4000 ? 0.16 : 0.38) * dim, thin);
    lines(toMissing, colours.muted, 0.45 * dim, thin, [2, 3]);
    if (shown.gaps) lines(picture.gaps, colours.gap, (picture.gaps.length > 60 ? 0.5 : 0.8) * dim, 1.3 * thin, [5, 5]);
    if (focus.length > 0) {
      lines(mine, colours.accent, 0.85, 1.5);
      if (shown.gaps) lines(focus.filter(isDocument).flatMap((point) => gapsOf[point]), colours.gap, 1, 2, [6, 5]);
      context.globalAlpha = 0.9;
      context.fillStyle = colours.accent;
      for (const link of mine) if (isShown(link[0]) && isShown(link[1])) arrow(link);
    }
    context.globalAlpha = focus.length > 0 ? 0.25 : 1;
    crowd((point) => focus.length === 0 || !near.has(point));
    context.globalAlpha = 1;
    if (focus.length > 0) crowd((point) => near.has(point));
    for (const point of focus) ring(point);
    labels(colours, focus, near);
  }

  readColours();
  fitToWindow();
  return { draw, readColours, fitToWindow, size };
}
