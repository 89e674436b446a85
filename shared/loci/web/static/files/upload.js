// Sends files that were chosen or dropped: each to where the server says.
// `sent` is called when one is stored, `expect` when another server has it.
function makeUpload(sent, expect) {
  const drop = find('drop');
  const lines = find('sending');
  const BROKE = 'The connection broke. Try again.';

  function line(name) {
    const item = element('li');
    const state = element('span', 'waits');
    item.append(element('bdi', name), state);
    lines.append(item);
    lines.hidden = false;
    return (text, isBad) => {
      state.textContent = text;
      state.className = isBad ? 'bad' : '';
      if (isBad) say(`${name}: ${text}`);
    };
  }

  // Sends it, and says how far it is.
  function transfer(method, url, body, tell) {
    return new Promise((done, fail) => {
      const request = new XMLHttpRequest();
      let hasBegun = false;
      request.open(method, url);
      request.upload.addEventListener('progress', (event) => {
        hasBegun = true;
        if (event.total > 0) tell(`${Math.floor((100 * event.loaded) / event.total)} %`);
      });
      request.addEventListener('load', () => done(request));
      request.addEventListener('error', () => fail(Object.assign(new Error(BROKE), { hasBegun })));
      request.send(body);
    });
  }

  const refused = (request) => new Error(`The server refuses it (${request.status})`);

  async function put(url, file, tell) {
    const request = await transfer('PUT', url, file, tell);
    let answer = {};
    try {
      answer = JSON.parse(request.responseText);
    } catch {
      // a proxy answered
    }
    if (request.status !== 200) throw answer.error ? new Error(answer.error.message) : refused(request);
    if (answer.status === 'error') tell(`stored, but not read: ${answer.reason}`, true);
    else tell('stored');
  }
  async function post(ticket, file, tell) {
    const form = new FormData();
    for (const [name, value] of Object.entries(ticket.fields)) form.append(name, value);
    form.append('file', file);
    let told = 'sent; it appears here soon';
    try {
      const request = await transfer('POST', ticket.url, form, tell);
      if (request.status >= 300) {
        const reason = request.responseXML?.querySelector('Message')?.textContent;
        throw reason ? new Error(`S3 refuses it: ${reason}`) : refused(request);
      }
    } catch (error) {
      if (error.hasBegun !== false) throw error;
      // The bucket lets no page read its answers, as those of older deployments.
      tell('is sent');
      await fetch(ticket.url, { method: 'POST', mode: 'no-cors', body: form }).catch(() => Promise.reject(new Error(BROKE)));
      told = 'sent; it appears here if it is stored. S3 does not tell this page if it refuses a file';
    }
    expect();
    tell(told);
  }

  async function send(file, tell) {
    tell('begins');
    const ticket = await ask('files', {}, { name: file.name, bytes: file.size });
    await (ticket.method === 'POST' ? post(ticket, file, tell) : put(ticket.url, file, tell));
  }

  async function sendAll(files) {
    const all = files.map((file) => [file, line(file.name)]);
    for (const [file, tell] of all) {
      try {
        await send(file, tell);
        await sent();
      } catch (error) {
        tell(error.message, true);
      }
    }
    say(`${plural(files.length, 'file')} done`);
  }

  const hasFiles = (event) => event.dataTransfer && [...event.dataTransfer.types].includes('Files');
  find('add').hidden = false;
  find('chosen').addEventListener('change', (event) => {
    sendAll([...event.target.files]);
    event.target.value = '';
  });
  addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop.hidden = false;
  });
  addEventListener('dragleave', (event) => {
    if (!event.relatedTarget) drop.hidden = true;
  });
  addEventListener('drop', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    drop.hidden = true;
    sendAll([...event.dataTransfer.files]);
  });
}
