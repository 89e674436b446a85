// A call that waits for a person: what it is, and the way to the page where they answer. Any other answer is a line.
function show(_, result) {
  const fault = result._meta?.['loci/error'] || {};
  if (fault.approval_url) {
    return showParts(filled('section', [
      filled('p', ['Waits for your approval: ', element('b', given.tool || 'a call')]),
      element('pre', JSON.stringify(given.arguments || {}, null, 2), { dir: 'auto', tabIndex: 0 }),
      button('Answer on Loci’s page', () => openPage(fault.approval_url)),
    ], { className: 'question' }));
  }
  const told = result.isError ? textOf(result) : `${given.tool || 'The tool'} has answered.`;
  showParts(note(told, result.isError ? 'bad' : 'note'));
}
HEARD['ui/notifications/tool-result'] = (result) => show(null, result);
