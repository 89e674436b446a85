// The positions of the points, computed in small steps: the same graph always has the same layout.
function makeLayout() {
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  const vx = new Float64Array(count);
  const vy = new Float64Array(count);
  const groups = picture.groups.length || 1;
  const members = new Float64Array(groups);
  const SLOWEST = 0.004;
  const cooling = count > 3000 ? 0.97 : 0.98;
  let heat = 1;

  // Each group starts as a spiral, and the groups are on a spiral.
  const spread = 14 * Math.sqrt(count + 1);
  const TURN = Math.PI * (3 - Math.sqrt(5));
  for (let point = 0; point < count; point++) {
    const group = groupOf(point);
    const inside = members[group]++;
    const out = groups > 1 ? spread * Math.sqrt((group + 0.5) / groups) : 0;
    x[point] = out * Math.cos(group * TURN) + 9 * Math.sqrt(inside) * Math.cos(inside * TURN);
    y[point] = out * Math.sin(group * TURN) + 9 * Math.sqrt(inside) * Math.sin(inside * TURN);
  }

  // Points push each other away. They lie in the cells of a grid: near ones push one by one, those of a far cell together.
  const side = Math.max(1, Math.min(16, Math.round(Math.sqrt(count / 6))));
  const cells = side * side;
  const first = new Int32Array(cells);
  const next = new Int32Array(count);
  const cellOf = new Int32Array(count);
  const mass = new Float64Array(cells);
  const sumX = new Float64Array(cells);
  const sumY = new Float64Array(cells);

  function fillCells() {
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (let point = 0; point < count; point++) {
      left = Math.min(left, x[point]);
      right = Math.max(right, x[point]);
      top = Math.min(top, y[point]);
      bottom = Math.max(bottom, y[point]);
    }
    const [wide, high] = [Math.max(right - left, 1) / side, Math.max(bottom - top, 1) / side];
    first.fill(-1);
    mass.fill(0);
    sumX.fill(0);
    sumY.fill(0);
    for (let point = 0; point < count; point++) {
      const column = Math.min(side - 1, Math.floor((x[point] - left) / wide));
      const cell = column + side * Math.min(side - 1, Math.floor((y[point] - top) / high));
      cellOf[point] = cell;
      next[point] = first[cell];
      first[cell] = point;
      mass[cell] += 1;
      sumX[cell] += x[point];
      sumY[cell] += y[point];
    }
  }

  function push(point, strength) {
    const column = cellOf[point] % side;
    const line = Math.floor(cellOf[point] / side);
    for (let cell = 0; cell < cells; cell++) {
      if (mass[cell] === 0) continue;
      const isFar = Math.abs((cell % side) - column) > 1 || Math.abs(Math.floor(cell / side) - line) > 1;
      if (isFar) pushBy(point, sumX[cell] / mass[cell], sumY[cell] / mass[cell], strength * mass[cell]);
      else for (let other = first[cell]; other >= 0; other = next[other]) if (other !== point) pushBy(point, x[other], y[other], strength);
    }
  }

  function pushBy(point, fromX, fromY, strength) {
    const dx = fromX - x[point];
    const dy = fromY - y[point];
    const far = Math.max(dx * dx + dy * dy, 9);
    vx[point] -= (dx * strength) / far;
    vy[point] -= (dy * strength) / far;
  }

  const pulls = links.map(([a, b]) => {
    const least = Math.min(degree[a], degree[b]);
    return [a, b, 1 / Math.max(least, 1), degree[a] / (degree[a] + degree[b])];
  });

  function attract() {
    for (const [a, b, strength, share] of pulls) {
      const dx = x[b] + vx[b] - x[a] - vx[a];
      const dy = y[b] + vy[b] - y[a] - vy[a];
      const far = Math.sqrt(dx * dx + dy * dy) || 1;
      const wanted = 34 + radius[a] + radius[b];
      const pull = ((far - wanted) / far) * heat * strength * 0.7;
      vx[b] -= dx * pull * share;
      vy[b] -= dy * pull * share;
      vx[a] += dx * pull * (1 - share);
      vy[a] += dy * pull * (1 - share);
    }
  }

  // The members of a group stay together, and all near the middle.
  function gather() {
    const middleX = new Float64Array(groups);
    const middleY = new Float64Array(groups);
    for (let point = 0; point < count; point++) {
      middleX[groupOf(point)] += x[point] / members[groupOf(point)];
      middleY[groupOf(point)] += y[point] / members[groupOf(point)];
    }
    for (let point = 0; point < count; point++) {
      const group = groupOf(point);
      vx[point] += ((middleX[group] - x[point]) * 0.09 - x[point] * 0.035) * heat;
      vy[point] += ((middleY[group] - y[point]) * 0.09 - y[point] * 0.035) * heat;
    }
  }

  function step() {
    fillCells();
    for (let point = 0; point < count; point++) push(point, 46 * heat);
    attract();
    gather();
    for (let point = 0; point < count; point++) {
      vx[point] *= 0.6;
      vy[point] *= 0.6;
      x[point] += vx[point];
      y[point] += vy[point];
    }
    heat *= cooling;
  }

  return { x, y, step, isSettled: () => count === 0 || heat < SLOWEST };
}
