// Speaks with the chat that shows the view, by messages of the window (MCP Apps). Nothing is heard from others.
const asked = new Map();
let given = {};
const post = (message) => parent.postMessage({ jsonrpc: '2.0', ...message }, '*');
const request = (method, params) =>
  new Promise((done, fail) => {
    asked.set(asked.size + 1, { done, fail });
    post({ id: asked.size, method, params });
  });
// What the tool answers, as data. Its own fault is an error here.
async function callTool(name, args) {
  const result = await request('tools/call', { name, arguments: args });
  if (result.isError) throw new Error(textOf(result));
  return dataOf(result);
}
const textOf = (result) => (result.content || []).filter((one) => one.type === 'text').map((one) => one.text).join('\n\n');
const dataOf = ({ structuredContent: data }) => (data && typeof data.result === 'object' && data.result !== null ? data.result : data);
const openPage = (address) => request('ui/open-link', { url: address }).catch(() => say(`Your chat opens no pages. The page is at ${address}`));
const pageOf = (place) => facts.pages + place;
const say = (text) => (find('said').textContent = text);

function heed(context) {
  if (context.theme) document.documentElement.dataset.theme = context.theme;
}

const showParts = (...parts) => find('view').replaceChildren(...parts.filter(Boolean));

// A result that says what went wrong, or that holds no data, is shown as it is written.
function showResult(result) {
  try {
    if (result.isError || !dataOf(result)) showText(result);
    else show(dataOf(result), result);
  } catch (error) {
    showText(result);
    throw error;
  }
}
const showText = (result) => showParts(element('pre', textOf(result) || 'There is no answer.', { className: result.isError ? 'bad' : '', dir: 'auto', tabIndex: 0 }));

const HEARD = {
  'ui/notifications/tool-input': (params) => (given = params.arguments || {}),
  'ui/notifications/tool-result': showResult,
  'ui/notifications/tool-cancelled': () => showParts(note('The call was cancelled.')),
  'ui/notifications/host-context-changed': heed,
};

function hear({ source, data }) {
  if (source !== parent || !data || data.jsonrpc !== '2.0') return;
  if (data.method && data.id !== undefined) post({ id: data.id, result: {} });
  else if (data.method) HEARD[data.method]?.(data.params || {});
  else if (data.error) asked.get(data.id)?.fail(new Error(data.error.message));
  else asked.get(data.id)?.done(data.result);
}
