// The positions of the points, computed in small steps: the same graph always has the same layout.
function makeLayout() {
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  const vx = new Float64Array(count);
  const vy = new Float64Array(count);
  const tree = makeTree(count);
  const groups = facts.groups.length || 1;
  const middleX = new Float64Array(groups);
  const middleY = new Float64Array(groups);
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

  function gather() {
    middleX.fill(0);
    middleY.fill(0);
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
    tree.build(x, y, count);
    const strength = 46 * heat;
    for (let point = 0; point < count; point++) tree.push(point, x, y, vx, vy, strength);
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
