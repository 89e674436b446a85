// A quadtree of the points (Barnes and Hut): a far crowd pushes like one point.
function makeTree(most) {
  const room = most * 8 + 64;
  const child = new Int32Array(room * 4);
  const leaf = new Int32Array(room);
  const mass = new Float64Array(room);
  const sumX = new Float64Array(room);
  const sumY = new Float64Array(room);
  const half = new Float64Array(room);
  const stack = new Int32Array(room);
  let used = 0;

  function add(size) {
    child.fill(-1, used * 4, used * 4 + 4);
    leaf[used] = -1;
    mass[used] = sumX[used] = sumY[used] = 0;
    half[used] = size;
    return used++;
  }

  function insert(point, x, y, left, top, size) {
    let node = 0;
    let midX = left + size;
    let midY = top + size;
    for (;;) {
      const isNew = mass[node] === 0;
      mass[node] += 1;
      sumX[node] += x[point];
      sumY[node] += y[point];
      if (isNew) {
        leaf[node] = point;
        return;
      }
      // Points in the same place stay together.
      if (half[node] < 0.01 || used + 2 > room) {
        leaf[node] = -1;
        return;
      }
      const before = leaf[node];
      if (before >= 0) {
        leaf[node] = -1;
        const quarter = (x[before] > midX ? 1 : 0) + (y[before] > midY ? 2 : 0);
        const down = add(half[node] / 2);
        child[node * 4 + quarter] = down;
        leaf[down] = before;
        mass[down] = 1;
        sumX[down] = x[before];
        sumY[down] = y[before];
      }
      const right = x[point] > midX;
      const below = y[point] > midY;
      const slot = node * 4 + (right ? 1 : 0) + (below ? 2 : 0);
      const step = half[node] / 2;
      if (child[slot] < 0) child[slot] = add(step);
      midX += right ? step : -step;
      midY += below ? step : -step;
      node = child[slot];
    }
  }

  function build(x, y, points) {
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (let at = 0; at < points; at++) {
      left = Math.min(left, x[at]);
      right = Math.max(right, x[at]);
      top = Math.min(top, y[at]);
      bottom = Math.max(bottom, y[at]);
    }
    const size = Math.max(right - left, bottom - top, 1) / 2;
    used = 0;
    add(size);
    for (let at = 0; at < points; at++) insert(at, x, y, left, top, size);
  }

  // Adds the push of all other points to the velocity of this point.
  function push(point, x, y, vx, vy, strength) {
    let depth = 0;
    stack[depth++] = 0;
    while (depth > 0) {
      const node = stack[--depth];
      const weight = mass[node];
      if (weight === 0 || leaf[node] === point) continue;
      const dx = sumX[node] / weight - x[point];
      const dy = sumY[node] / weight - y[point];
      const far = Math.max(dx * dx + dy * dy, 9);
      const slot = node * 4;
      const isWhole = leaf[node] >= 0 || 4 * half[node] * half[node] < 0.8 * far;
      let descended = false;
      if (!isWhole) {
        for (let quarter = 0; quarter < 4; quarter++) {
          if (child[slot + quarter] >= 0) {
            stack[depth++] = child[slot + quarter];
            descended = true;
          }
        }
      }
      if (!descended) {
        vx[point] -= (dx * strength * weight) / far;
        vy[point] -= (dy * strength * weight) / far;
      }
    }
  }

  return { build, push };
}
