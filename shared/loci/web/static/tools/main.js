// The page: the address says which tool or which code is open.
const detail = makeDetail([
  { pattern: /^#tool\/(.+)$/, open: openedTool },
  { pattern: /^#(cap_[0-9a-f]+(?:\.\d+)?)$/, open: openedCapability },
]);
const servers = makeList('servers', 'tools/servers', {
  row: serverRow,
  told({ rows, total }) {
    const bad = rows.filter((one) => one.failure).length;
    return total > 1 ? `${plural(total - 1, 'server')}${bad ? `, ${bad} of which failed` : ''}` : 'There are no servers yet. Add one with: loci tools add';
  },
});
const learned = makeList('learned', 'tools/learned', {
  row: capabilityRow,
  told: (answer) => (answer.total ? counted(answer, 'capability', 'capabilities') : 'Nothing is learned yet. Code that pml_execute_code runs with an intent is learned if it works.'),
});
makeList('calls', 'tools/calls', { row: callRow, told: ({ total }) => (total ? 'Without arguments and results' : 'No tool of a server has been called.') });
detail.follow();
