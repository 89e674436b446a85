// Why a result is where it is: its rank after each stage, as a bar, in words, and what moved it.
const STAGES = [
  ['words', 'Words', 'bm25', 'BM25', '--g1'],
  ['vector', 'Vector', 'cosine', 'cosine', '--g0'],
  ['fused', 'Both', null, null, '--g5'],
  ['late', 'Late interaction', null, null, '--g4'],
  ['rerank', 'Cross-encoder', 'relevance', 'relevance', '--g2'],
];
const WORST = 200; // a rank from which on a bar is as short as can be

const share = (rank) => `${Math.round(100 * Math.max(0.05, 1 - Math.log(rank) / Math.log(WORST)))}%`;

function stageOf(name, rank, before, told, colour) {
  const item = element('li');
  const bar = element('span', undefined, { className: 'bar' });
  const part = element('i');
  part.style.setProperty('--part', share(rank));
  part.style.setProperty('--colour', `var(${colour})`);
  bar.append(part);
  const moved = before === null ? 0 : before - rank;
  const shown = element('span', `#${numeral(rank)}`);
  if (moved) shown.append(' ', element('span', `${moved > 0 ? '↑' : '↓'}${Math.abs(moved)}`, { className: moved > 0 ? 'up' : 'down' }));
  const how = moved ? `, moved ${moved > 0 ? 'up' : 'down'} by ${Math.abs(moved)}` : '';
  const seen = [element('span', name), bar, shown];
  for (const one of seen) one.setAttribute('aria-hidden', 'true');
  item.title = `${name}: rank ${rank}${how}${told}`;
  item.append(...seen, element('span', `${item.title}. `, { className: 'unseen' }));
  return item;
}

// `place` counts from 1. A stage that did not rank the result has no bar, nor has one that left it where it was and
// gives it no score.
function whyOf(explain, place) {
  const made = element('ul', undefined, { className: 'why' });
  made.setAttribute('aria-label', 'Why it is here');
  let before = null;
  for (const [field, name, score, scale, colour] of STAGES) {
    const rank = explain[field];
    if (rank === null || rank === undefined) continue;
    const value = score && explain[score];
    const told = typeof value === 'number' ? `, ${scale} ${value.toFixed(2)}` : '';
    if (before !== null && !score && rank === before) continue;
    const isFirst = field === 'words' || field === 'vector' || field === 'fused';
    made.append(stageOf(name, rank, isFirst ? null : before, told, colour));
    if (field === 'fused' || !isFirst) before = rank;
  }
  made.append(stageOf('Here', place, before, '', '--edge'));
  if (explain.name) made.append(element('li', 'The question names it, which puts it first.'));
  return made;
}
