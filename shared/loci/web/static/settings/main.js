// Clients that were let in, folders that are shared, Python executors that live, and what the doctor finds: the worst first.
const STATES = { running: 'code runs in it', idle: 'waits for code', saved: 'saved, without a process', new: 'has no variables' };
const WORST = ['fault', 'warning', 'ok'];

function endOf(name, list, path, question, no) {
  const end = async () => {
    if (!(await confirmed({ question, yes: 'End session', no, send: () => ask(path, {}, {}) }))) return;
    await list().refresh();
    find('content').focus();
    say('Ended');
  };
  return button('End session', end, { className: 'act small gone', ariaLabel: `End session: ${name}` });
}

function connectionRow(one) {
  const question = `End the session of ${one.name}? Its tokens stop at once. The next time it must ask you again.`;
  const from = [one.home ? 'It comes from ' : 'It chose this name itself', one.home && element('b', one.home), '. Your browser went back to ', element('b', one.place), '.'];
  const goesOn = one.asksAgain ? ', and you are asked again' : ' if it is not used until then';
  return rowOf(
    { id: one.id, title: one.name, acts: [endOf(one.name, () => connections, `settings/connections/${encodeURIComponent(one.id)}/end`, question)] },
    filled('div', from, { className: 'under', dir: 'auto' }),
    chips('It may', one.may),
    filled('div', ['Connected ', timeOf(one.created), ', used last about ', timeOf(one.used), '; ends ', timeOf(one.until), goesOn], { className: 'under' }),
  );
}

function shareRow(one) {
  const given = Boolean(one.with);
  const send = () => ask(`settings/shares/${one.id}/end`, {}, {});
  const end = async () => {
    const question = given ? `End the sharing of ${one.folder}? ${one.with} finds nothing of it from now on.` : `Leave ${one.folder}? Your searches find nothing of it from now on.`;
    if (!(await confirmed({ question, yes: given ? 'End sharing' : 'Leave', no: 'Keep it', send }))) return;
    await shares.refresh();
    find('content').focus();
    say('Ended');
  };
  const act = button(given ? 'End sharing' : 'Leave', end, { className: 'act small gone', ariaLabel: `${given ? 'End sharing' : 'Leave'}: ${one.folder}` });
  const told = given ? ['With ', element('b', one.with), ' since '] : [element('b', one.by), ' shares it with you since '];
  return rowOf({ id: one.id, title: one.folder, mark: given ? 'by you' : 'with you', acts: [act] }, filled('div', [...told, timeOf(one.since)], { className: 'under', dir: 'auto' }));
}

function shareForm() {
  const folder = element('input', undefined, { required: true, maxLength: 1000, autocomplete: 'off', placeholder: 'notes', name: 'folder' });
  const receiver = element('input', undefined, { required: true, maxLength: 1100, autocomplete: 'off', placeholder: 'team/ann', name: 'with' });
  const form = filled('form', [filled('label', ['Folder of your documents', folder]), filled('label', ['Who may read it', receiver]), element('button', 'Share', { className: 'act' })], { className: 'share' });
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const sent = { folder: folder.value, receiver: receiver.value };
    const question = `Let ${sent.receiver} read and search ${sent.folder}? What is put there later is shared, too, also by agents.`;
    const pinned = facts.asksPin ? { field: 'Your PIN', type: 'password' } : {};
    if (!(await confirmed({ question, yes: 'Share', no: 'Cancel', ...pinned, send: (value) => ask('settings/shares', {}, { ...sent, value }) }))) return;
    form.reset();
    await shares.refresh();
    say('Shared');
  });
  return facts.lacks ? element('p', facts.lacks, { className: 'under' }) : form;
}

function executorRow(one) {
  const kept = one.variable_count ? ` Its ${plural(one.variable_count, 'variable')} and its files are gone then.` : '';
  const question = `End the session ${one.id}?${one.state === 'running' ? ' Code runs in it, and is interrupted.' : ''}${kept}`;
  const told = [one.memory_mb !== null && `${numeral(one.memory_mb)} MB of memory, `, one.saved_bytes === null ? 'nothing saved' : `${sizeOf(one.saved_bytes)} saved`, '; used last ', timeOf(one.used)];
  if (one.created) told.push(', created ', timeOf(one.created));
  const names = one.variables.map((name) => (one.unsaved.includes(name) ? `${name} (not saved yet)` : name));
  if (one.variable_count > names.length) names.push(`and ${one.variable_count - names.length} more`);
  return rowOf(
    { id: one.id, title: one.id, mark: STATES[one.state] || one.state, kind: one.state === 'idle' ? 'strong' : '', acts: [endOf(one.id, () => executors, `settings/executors/${one.id}/end`, question, 'Let it live')] },
    filled('div', told, { className: 'under' }),
    names.length > 0 && chips('Variables', names),
  );
}

function findingRow(one) {
  return rowOf({ id: one.name, title: one.name, mark: one.state, kind: { ok: 'strong', warning: 'asks', fault: 'bad' }[one.state] }, element('div', one.what, { dir: 'auto' }), one.advice);
}

async function look() {
  again.disabled = true;
  find('findings-counts').textContent = 'Looking …';
  try {
    const { rows, whole, total } = await ask('settings/health');
    const number = (state) => rows.filter((one) => one.state === state).length;
    find('findings').replaceChildren(...rows.sort((one, other) => WORST.indexOf(one.state) - WORST.indexOf(other.state)).map(findingRow));
    const about = whole ? 'what loci doctor says of this machine' : 'what concerns you';
    find('findings-counts').textContent = `${number('ok')} ok, ${plural(number('warning'), 'warning')}, ${plural(number('fault'), 'fault')}: ${about}${total > rows.length ? `; ${total - rows.length} more` : ''}`;
  } catch (error) {
    find('findings-counts').textContent = error.message;
  }
  say(find('findings-counts').textContent);
  again.disabled = false;
}

const connections = makeList('connections', 'settings/connections', { row: connectionRow, told: (answer) => (answer.total ? counted(answer, 'connection') : facts.how) });
const shares = makeList('shares', 'settings/shares', { row: shareRow, told: (answer) => (answer.total ? counted(answer, 'shared folder') : 'You share no folder, and nobody shares one with you.') });
find('shares').append(shareForm());
const executors = makeList('executors', 'settings/executors', { row: executorRow, told: (answer) => (answer.total ? counted(answer, 'executor') : facts.why || 'There is no executor. create_memory_code_runner makes one.') });
const again = button('Refresh', look, { className: 'step' });
find('health').append(again);
look();
