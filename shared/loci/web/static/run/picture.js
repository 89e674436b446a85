// The tasks of a run by layers, as a picture. A task is a link, so the keyboard reaches it; arrow keys walk.
const DRAWN = { width: 190, height: 66, across: 56, down: 14, edge: 16, name: 22, tool: 24 };
const WORDS = { waiting: 'waits', running: 'runs', success: 'done', error: 'failed', skipped: 'skipped' };

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function stateOf(run, task) {
  const word = run.checkpoint && run.checkpoint.task === task.id ? 'waits for an answer' : WORDS[task.status];
  if (!task.began) return word;
  return `${word}, ${took(task.status === 'running' ? serverNow() - task.began : task.ms / 1000)}`;
}

function makePicture() {
  const nodes = new Map();
  const whole = drawnElement('svg', {});
  let places = [];
  let size = { width: 1, height: 1 };
  let layersKey = '';

  function edge(from, to) {
    const [x, y] = [from.x + DRAWN.width, from.y + DRAWN.height / 2];
    const [toX, toY] = [to.x, to.y + DRAWN.height / 2];
    const bend = Math.max(24, (toX - x) / 2);
    return drawnElement('path', { class: 'edge', d: `M${x} ${y}C${x + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}` });
  }

  function node(task, at) {
    const made = drawnElement('a', { href: `#${encodeURIComponent(task.id)}`, class: 'node' });
    const state = drawnElement('text', { x: at.x + 12, y: at.y + 56, class: 'small' });
    const name = drawnElement('text', { x: at.x + 12, y: at.y + 22, class: 'name' }, cut(task.id, DRAWN.name));
    const tool = drawnElement('text', { x: at.x + 12, y: at.y + 39, class: 'small' }, cut(toolName(task.tool), DRAWN.tool));
    made.append(drawnElement('rect', { x: at.x, y: at.y, width: DRAWN.width, height: DRAWN.height, rx: 10 }), name, ' ', tool, ' ', state);
    return { made, state, at, named: `${name.textContent}, ${tool.textContent}` };
  }

  function build(run) {
    const tasks = new Map(run.plan.map((one) => [one.id, one]));
    const step = DRAWN.height + DRAWN.down;
    const rows = Math.max(...run.layers.map((layer) => layer.length));
    nodes.clear();
    places = run.layers;
    for (const [column, layer] of run.layers.entries()) {
      const top = DRAWN.edge + ((rows - layer.length) * step) / 2;
      for (const [row, id] of layer.entries()) {
        const x = DRAWN.edge + column * (DRAWN.width + DRAWN.across);
        nodes.set(id, node(tasks.get(id), { x, y: top + row * step, column, row }));
      }
    }
    size = { width: 2 * DRAWN.edge + run.layers.length * (DRAWN.width + DRAWN.across) - DRAWN.across, height: 2 * DRAWN.edge + rows * step - DRAWN.down };
    whole.setAttribute('viewBox', `0 0 ${size.width} ${size.height}`);
    whole.replaceChildren();
    for (const task of run.plan) for (const before of task.after) whole.append(edge(nodes.get(before).at, nodes.get(task.id).at));
    for (const one of nodes.values()) whole.append(one.made);
  }

  find('picture').addEventListener('keydown', (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const here = [...nodes.values()].find((one) => one.made === document.activeElement);
    if (!step || !here) return;
    const layer = places[here.at.column + step[0]];
    const next = layer && (step[0] ? layer[Math.min(here.at.row, layer.length - 1)] : layer[here.at.row + step[1]]);
    event.preventDefault();
    if (next) nodes.get(next).made.focus();
  });

  function draw(run, zoom) {
    const key = JSON.stringify(run.layers);
    const focused = [...nodes].find(([, one]) => one.made === document.activeElement)?.[0];
    if (key !== layersKey) build(run);
    if (key !== layersKey && focused) nodes.get(focused)?.made.focus();
    layersKey = key;
    for (const [name, length] of Object.entries(size)) whole.setAttribute(name, Math.round(zoom * length));
    find('shortened').hidden = true;
    for (const task of run.plan) {
      const one = nodes.get(task.id);
      const asks = run.checkpoint && run.checkpoint.task === task.id ? ' asks' : '';
      one.made.setAttribute('class', `node ${task.status}${asks}${location.hash === `#${encodeURIComponent(task.id)}` ? ' open' : ''}`);
      one.state.textContent = stateOf(run, task);
      one.made.setAttribute('aria-label', `${one.named}, ${one.state.textContent}`);
    }
  }

  return { least: 0.2, most: 2, element: whole, draw, fit: () => Math.min(1, find('picture').clientWidth / size.width) };
}
