// The names beside the points, as many as fit without overlap: the most linked points first.
const LONGEST = innerWidth > 720 ? 34 : 22;
const widths = new Map();

function labelOf(point) {
  const name = [...nameOf(point).replace(/[\u0000-\u001f\u007f\u202a-\u202e\u2066-\u2069]/g, ' ')];
  return name.length > LONGEST ? `${name.slice(0, LONGEST - 1).join('')}…` : name.join('');
}

function makeLabels(context, camera, layout, sizeOf) {
  const HEIGHT = 15;
  const FEW = 300;
  // In a small graph each name has a place beside its dot, or none.
  const HUBS = count < 40 ? 0 : innerWidth > 720 ? 8 : 4;
  const LEAST = 4;
  const ROOM = 1280 * 720;
  const taken = [];
  const dots = [];

  function widthOf(text) {
    if (!widths.has(text)) widths.set(text, context.measureText(text).width);
    return widths.get(text);
  }

  const hits = (box, one) => box[0] < one[2] && box[2] > one[0] && box[1] < one[3] && box[3] > one[1];

  // Places a name below its dot, above or beside it, where it covers nothing. The name of a hub may cover dots.
  function place(point, must, isHub) {
    const [x, y] = camera.toScreen(layout.x[point], layout.y[point]);
    if (x < -40 || y < -20 || x > innerWidth + 40 || y > innerHeight + 20) return;
    const text = labelOf(point);
    const half = widthOf(text) / 2 + 4;
    // A name stays whole beside the edge, unless its point is beyond it.
    const middle = x < 0 || x > innerWidth ? x : Math.max(half, Math.min(x, innerWidth - half));
    const away = sizeOf(point) + 4;
    const places = [[middle, y + away], [middle, y - away - HEIGHT], [x + away + half, y - HEIGHT / 2], [x - away - half, y - HEIGHT / 2]];
    const boxes = places.filter(([at], number) => number < 2 || (at >= half && at <= innerWidth - half)).map(([at, top]) => [at - half, top - 1, at + half, top + HEIGHT]);
    const isFree = (box) => !taken.some((one) => hits(box, one)) && (isHub || !dots.some((one) => hits(box, one)));
    const box = boxes.find(isFree) || (must && boxes[0]);
    if (!box) return;
    taken.push(box);
    const centre = (box[0] + box[2]) / 2;
    context.strokeText(text, centre, box[1] + 1);
    context.fillText(text, centre, box[1] + 1);
  }

  // Only in small graphs: among thousands of dots every name covers some.
  function mindDots() {
    dots.length = 0;
    if (count > FEW) return;
    for (let point = 0; point < count; point++) {
      if (!isShown(point)) continue;
      const [x, y] = camera.toScreen(layout.x[point], layout.y[point]);
      const round = sizeOf(point) * 0.7;
      dots.push([x - round, y - round, x + round, y + round]);
    }
  }

  return function draw(colours, focus, near) {
    taken.length = 0;
    mindDots();
    context.font = '12px system-ui, -apple-system, "Segoe UI", Arial, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'top';
    context.lineJoin = 'round';
    context.lineWidth = 3.5;
    context.strokeStyle = colours.paper;
    context.fillStyle = colours.ink;
    for (const point of focus) place(point, true);
    if (focus.length > 0) {
      for (const point of near) if (taken.length < 40 && !focus.includes(point)) place(point, false);
      return;
    }
    // Fewer on a small window, and where many points are in sight.
    const room = Math.min(1, (innerWidth * innerHeight) / ROOM);
    const crowd = Math.min(1, Math.sqrt(FEW / Math.max(count, 1)) * Math.max(1, camera.now.zoom));
    const most = Math.max(LEAST, Math.min(14 + 70 * camera.now.zoom * camera.now.zoom, 110) * room * crowd);
    for (const point of byDegree) {
      if (taken.length >= most) break;
      if (isShown(point) && (isDocument(point) || camera.now.zoom > 0.9)) place(point, false, taken.length < HUBS);
    }
  };
}
