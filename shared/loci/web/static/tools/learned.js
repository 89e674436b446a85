// What was learned: code that worked for an intent, how often it does, and its versions; and a way to forget it.
const hrefOf = (id) => `#${encodeURIComponent(id)}`;

function rateOf(one) {
  const again = one.reuse_count ? `, used again ${plural(one.reuse_count, 'time')}` : '';
  return filled('div', [`${numeral(one.worked)} of ${plural(one.runs, 'run')} worked${again}, last `, timeOf(one.used)], { className: 'under' });
}

function capabilityRow(one) {
  const mark = one.version_count > 1 ? plural(one.version_count, 'version') : '';
  const tools = one.tools_used.length > 0 && `with ${one.tools_used.join(', ')}`;
  return rowOf({ id: one.id, title: one.intent || one.id, href: hrefOf(one.id), mark }, rateOf(one), tools);
}

async function forget(one) {
  const question = `Delete “${one.intent || one.id}” with all its versions? Searches no longer find it.`;
  if (!(await confirmed({ question, yes: 'Delete', send: () => ask(`tools/learned/${one.id}/delete`, {}, {}) }))) return;
  detail.leave();
  await learned.refresh();
  find('content').focus();
  say('Deleted');
}

async function openedCapability([, id]) {
  const one = await ask(`tools/learned/${encodeURIComponent(id)}`);
  const versions = one.versions.map((two) => {
    const mark = two.number === one.version ? 'shown' : two.is_offered ? 'offered' : '';
    const learnedAt = filled('div', ['learned ', timeOf(two.learned)], { className: 'under' });
    return rowOf({ id: two.id, title: `Version ${two.number}`, href: hrefOf(two.id), mark }, learnedAt, rateOf(two));
  });
  const parts = [
    one.other_intents.length > 0 && note(`Also run for: ${one.other_intents.join('; ')}`),
    one.tools_used.length > 0 && note(`Tools: ${one.tools_used.join(', ')}`),
    one.needs.length > 0 && note(`Needs in its context: ${one.needs.join(', ')}`),
    ...longText('Code', one.code),
    element('h3', 'Versions'),
    filled('ul', versions, { className: 'rows' }),
    button('Delete', () => forget(one), { className: 'act gone' }),
  ];
  return { title: one.intent || one.id, line: `${one.id}, version ${one.version}`, parts };
}
