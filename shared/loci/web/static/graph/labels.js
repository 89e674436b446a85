// Names beside points, as many as fit: the most linked first, none over another.
const LONGEST = 34;
const widths = new Map();

function labelOf(point) {
  const name = [...nameOf(point).replace(/[\u0000-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, ' ')];
  return name.length > LONGEST ? `${name.slice(0, LONGEST - 1).join('')}…` : name.join('');
}

function makeLabels(context, camera, layout) {
  const HEIGHT = 15;
  const taken = [];

  function widthOf(text) {
    if (!widths.has(text)) widths.set(text, context.measureText(text).width);
    return widths.get(text);
  }

  function place(point, must) {
    const [x, y] = camera.toScreen(layout.x[point], layout.y[point]);
    if (x < -40 || y < -20 || x > innerWidth + 40 || y > innerHeight + 20) return;
    const text = labelOf(point);
    const wide = widthOf(text);
    const below = y + radius[point] * Math.sqrt(camera.now.zoom) + 4;
    const box = [x - wide / 2 - 4, below - 1, x + wide / 2 + 4, below + HEIGHT];
    const isHit = taken.some((one) => box[0] < one[2] && box[2] > one[0] && box[1] < one[3] && box[3] > one[1]);
    if (isHit && !must) return;
    taken.push(box);
    context.strokeText(text, x, below);
    context.fillText(text, x, below);
  }

  return function draw(colours, focus, near) {
    taken.length = 0;
    context.font = '12px system-ui, -apple-system, "Segoe UI", Arial, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'top';
    context.lineJoin = 'round';
    context.lineWidth = 3.5;
    context.strokeStyle = colours.paper;
    context.fillStyle = colours.ink;
    for (const point of focus) place(point, true);
    if (focus.length > 0) {
      for (const point of near) if (taken.length < 40) place(point, false);
      return;
    }
    const most = Math.min(14 + 70 * camera.now.zoom * camera.now.zoom, 110);
    for (const point of byDegree) {
      if (taken.length >= most) break;
      if (isShown(point) && (isDocument(point) || camera.now.zoom > 0.9)) place(point, false);
    }
  };
}
