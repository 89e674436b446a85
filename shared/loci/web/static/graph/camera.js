// The visible part of the plane. It glides to a new place, unless the user prefers reduced motion.
const calm = matchMedia('(prefers-reduced-motion: reduce)');

function makeCamera(canvas, layout) {
  const now = { x: 0, y: 0, zoom: 1 };
  let goal = null;
  let isFree = true; // it follows the layout until the user moves it

  const isReading = () => document.body.classList.contains('reading');
  const side = () => (isReading() && innerWidth > 900 ? 446 : 0);
  const leftSide = () => (innerWidth > 900 ? 288 : 0);
  // On a phone the search stands above the picture, and the panel below it; in front of the lower edge is the slider of days.
  const above = () => (innerWidth > 720 ? 0 : 180);
  const below = () => (isReading() && innerWidth <= 720 ? 0.62 * innerHeight : days.length > 1 ? 56 : 0);
  const middle = () => [(leftSide() + innerWidth - side()) / 2, (above() + innerHeight - below()) / 2];
  const toScreen = (x, y) => {
    const [midX, midY] = middle();
    return [(x - now.x) * now.zoom + midX, (y - now.y) * now.zoom + midY];
  };
  const toPlane = (x, y) => {
    const [midX, midY] = middle();
    return [(x - midX) / now.zoom + now.x, (y - midY) / now.zoom + now.y];
  };

  function whole() {
    let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
    for (let point = 0; point < count; point++) {
      if (!isShown(point)) continue;
      left = Math.min(left, layout.x[point]);
      right = Math.max(right, layout.x[point]);
      top = Math.min(top, layout.y[point]);
      bottom = Math.max(bottom, layout.y[point]);
    }
    if (left > right) return { x: 0, y: 0, zoom: 1 };
    const wide = Math.max(innerWidth - side() - leftSide() - 90, 160);
    const high = Math.max(innerHeight - above() - below() - 90, 100);
    const zoom = Math.min(wide / (right - left + 40), high / (bottom - top + 40), 2.2);
    return { x: (left + right) / 2, y: (top + bottom) / 2, zoom };
  }

  function go(there, atOnce) {
    goal = there;
    if (atOnce || calm.matches) {
      Object.assign(now, there);
      goal = null;
    }
  }

  return {
    now,
    toScreen,
    toPlane,
    fit(atOnce) {
      go(whole(), atOnce);
    },
    follow() {
      if (isFree) go(whole(), true);
    },
    free() {
      isFree = true;
    },
    take() {
      isFree = false;
    },
    look(point) {
      isFree = false;
      go({ x: layout.x[point], y: layout.y[point], zoom: Math.max(now.zoom, 1.3) });
    },
    move(dx, dy) {
      isFree = false;
      goal = null;
      now.x -= dx / now.zoom;
      now.y -= dy / now.zoom;
    },
    scale(by, x, y) {
      isFree = false;
      goal = null;
      const [midX, midY] = middle();
      const [planeX, planeY] = toPlane(x ?? midX, y ?? midY);
      now.zoom = Math.min(Math.max(now.zoom * by, 0.02), 12);
      now.x = planeX - ((x ?? midX) - midX) / now.zoom;
      now.y = planeY - ((y ?? midY) - midY) / now.zoom;
    },
    // Makes one frame of a glide; returns true if there are more.
    glide() {
      if (!goal) return false;
      for (const name of ['x', 'y', 'zoom']) now[name] += (goal[name] - now[name]) * 0.2;
      if (Math.abs(goal.zoom - now.zoom) < 0.001 && Math.hypot(goal.x - now.x, goal.y - now.y) * now.zoom < 0.3) {
        Object.assign(now, goal);
        goal = null;
      }
      return true;
    },
  };
}
