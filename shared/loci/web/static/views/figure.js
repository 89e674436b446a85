// What code drew, wrote and gave back.
function show({ value, stdout, stderr, error, artifacts = [] }, result) {
  const pictures = (result.content || []).filter((one) => one.type === 'image');
  const names = artifacts.filter((one) => one.kind === 'figure').map((one) => one.name);
  const figures = pictures.map((one, at) => element('img', undefined, { src: `data:${one.mimeType};base64,${one.data}`, alt: names[at] || `Figure ${at + 1}` }));
  const text = (name, words, className = '') => words && filled('section', [element('h3', name), element('pre', words, { className, dir: 'auto', tabIndex: 0 })]);
  const others = artifacts.filter((one) => one.kind !== 'figure').map((one) => `${one.name} (${sizeOf(one.size_bytes)})`);
  const fault = error && (typeof error === 'string' ? error : [error.type, error.message].filter(Boolean).join(': '));
  const parts = [...figures, text('Error', fault, 'bad'), text('Value', value && value !== 'None' && String(value)), text('Output', stdout), text('Warnings', stderr), others.length && note(`Files: ${others.join(', ')}`)];
  showParts(...(parts.some(Boolean) ? parts : [note('The code ran, and gave nothing back.')]));
}
