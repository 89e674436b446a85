// The page: the address says which tool or which code is open.
const detail = makeDetail([
  { pattern: /^#server\/([A-Za-z0-9_-]+)$/, open: openedServer },
  { pattern: /^#tool\/(.+)$/, open: openedTool },
  { pattern: /^#(cap_[0-9a-f]+(?:\.\d+)?)$/, open: openedCapability },
]);
const servers = makeList('servers', 'tools/servers', {
  row: serverRow,
  told({ rows, total }) {
    const bad = rows.filter((one) => one.failure).length;
    return total > 1 ? `${plural(total - 1, 'server')}${bad ? `, ${bad} failed` : ''}` : 'There are no servers yet. Add one with: loci tools add';
  },
});
const learned = makeList('learned', 'tools/learned', {
  row: capabilityRow,
  told: (answer) => (answer.total ? counted(answer, 'capability', 'capabilities') : 'Nothing is learned yet. Code that pml_execute_code runs with an intent is learned if it works.'),
});
makeList('calls', 'tools/calls', { row: callRow, told: ({ total }) => (total ? 'Without arguments and results' : 'No tool of a server has been called.') });

// The tools that an agent finds with these words.
let searched = 0;
find('search').addEventListener('input', async () => {
  const mine = ++searched;
  await new Promise((next) => setTimeout(next, 250));
  const q = find('search').value.trim();
  if (mine !== searched) return;
  try {
    const { tools } = q ? await ask('tools/search', { q }) : { tools: [] };
    if (mine !== searched) return;
    find('found').replaceChildren(...tools.map(toolRow));
    find('found-counts').textContent = q ? `${plural(tools.length, 'tool')}, as an agent finds them` : '';
    detail.mark();
  } catch (error) {
    find('found-counts').textContent = error.message;
  }
});
addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.target.closest('input, textarea')) return;
  event.preventDefault();
  find('search').focus();
});
detail.follow();
