// Sends files that were chosen or dropped: each to where the server says.
function makeUpload(list) {
  const drop = find('drop');
  const lines = find('sending');

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

  function put(url, file, tell) {
    return new Promise((done, fail) => {
      const request = new XMLHttpRequest();
      request.open('PUT', url);
      request.upload.addEventListener('progress', (event) => {
        if (event.total > 0) tell(`${Math.floor((100 * event.loaded) / event.total)} %`);
      });
      request.addEventListener('load', () => {
        let answer = {};
        try {
          answer = JSON.parse(request.responseText);
        } catch {
          // a proxy answered
        }
        if (request.status === 200) done(answer);
        else fail(new Error(answer.error ? answer.error.message : `The server refuses it (${request.status})`));
      });
      request.addEventListener('error', () => fail(new Error('The connection broke. Try again.')));
      request.send(file);
    });
  }

  // S3 takes the form of any page, but tells nothing of its answer.
  async function post(ticket, file) {
    const form = new FormData();
    for (const [name, value] of Object.entries(ticket.fields)) form.append(name, value);
    form.append('file', file);
    await fetch(ticket.url, { method: 'POST', mode: 'no-cors', body: form });
  }

  async function send(file, tell) {
    tell('begins');
    const ticket = await ask('files', {}, { name: file.name, bytes: file.size });
    if (ticket.method === 'POST') {
      tell('is sent');
      await post(ticket, file);
      list.expect(file.name);
      return tell('sent; it appears here when it is stored');
    }
    const answer = await put(ticket.url, file, tell);
    return answer.status === 'error' ? tell(`stored, but not read: ${answer.reason}`, true) : tell('stored');
  }

  async function sendAll(files) {
    const all = files.map((file) => [file, line(file.name)]);
    for (const [file, tell] of all) {
      try {
        await send(file, tell);
        await list.refresh();
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
