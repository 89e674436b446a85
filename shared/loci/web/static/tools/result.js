// The result of a call, as its server gave it: all of it is text here, and nothing is loaded.
const longText = (text) => element('pre', text, { dir: 'auto', tabIndex: 0 });

function blockOf(block) {
  if (block.type === 'text') return [longText(String(block.text))];
  if (typeof block.data === 'string') return [element('p', `${block.type}, ${block.mimeType || 'of no type'}, ${sizeOf(Math.floor((block.data.length * 3) / 4))}: not shown`, { className: 'note' })];
  return [longText(JSON.stringify(block, null, 2))];
}

function folded(heading, text) {
  const made = element('details');
  made.append(element('summary', heading), longText(text));
  return made;
}

function resultOf(answer, took) {
  const time = `after ${took} ms`;
  if (answer.failed) {
    const { code, message, resolution } = answer.failed;
    return [element('h3', `Not done, ${time}: ${code}`), element('p', message, { className: 'state error', dir: 'auto' }), element('p', resolution || '', { className: 'note', dir: 'auto' })];
  }
  if (answer.beginning) return [element('h3', `Done, ${time}. The result is large: this is its beginning`), longText(answer.beginning)];
  const { content, structuredContent, isError, _meta } = answer.result;
  const data = structuredContent ?? _meta?.['loci/error'];
  const parts = [element('h3', isError ? `The tool failed, ${time}` : `Done, ${time}`, { className: isError ? 'state error' : '' })];
  for (const block of Array.isArray(content) ? content : []) parts.push(...blockOf(block));
  if (data !== undefined && data !== null) parts.push(folded('As data', JSON.stringify(data, null, 2)));
  return parts;
}
