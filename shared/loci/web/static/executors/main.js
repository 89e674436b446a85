// Python executors: what lives, what it takes, which variables are kept; and a way to end one.
const STATES = { running: 'code runs in it', idle: 'waits for code', saved: 'saved, without a process', new: 'has no variables' };

function endOf(one) {
  const button = element('button', 'End it', { className: 'act gone' });
  button.setAttribute('aria-label', `End it: ${one.id}`);
  button.addEventListener('click', async () => {
    const kept = one.variable_count ? ` Its ${plural(one.variable_count, 'variable')} and its files are gone then.` : '';
    const runs = one.state === 'running' ? ' Code runs in it, and is interrupted.' : '';
    if (!(await sure(`End ${one.id}?${runs}${kept}`, 'End it', 'Let it live'))) return;
    button.disabled = true;
    try {
      show(await ask(`executors/${one.id}/end`, {}, {}));
      find('content').focus();
      say('Ended');
    } catch (error) {
      button.disabled = false;
      trouble(error.message);
    }
  });
  return button;
}

function rowOf(one) {
  const item = element('li');
  const heading = element('h2');
  heading.append(element('code', one.id), element('span', STATES[one.state] || one.state, { className: `match ${one.state}` }), endOf(one));
  const told = [];
  if (one.memory_mb !== null) told.push(`${numeral(one.memory_mb)} MB of memory`);
  told.push(one.saved_bytes === null ? 'nothing saved' : `${sizeOf(one.saved_bytes)} saved`);
  const times = [`used last ${moment(one.used)}`];
  if (one.created) times.push(`created ${moment(one.created)}`);
  item.append(heading, element('p', `${told.join(', ')}; ${times.join(', ')}`, { className: 'under' }));
  if (one.variable_count) {
    const names = element('ul', undefined, { className: 'chips' });
    names.setAttribute('aria-label', 'Variables');
    const changed = new Set(one.unsaved);
    names.append(...one.variables.map((name) => element('li', changed.has(name) ? `${name} (not saved yet)` : name, { className: 'chip', dir: 'auto' })));
    if (one.variable_count > one.variables.length) names.append(element('li', `and ${one.variable_count - one.variables.length} more`));
    item.append(names);
  }
  return item;
}

function trouble(text) {
  find('trouble').textContent = text || '';
  find('trouble').hidden = !text;
}

function show(answer) {
  const some = answer.executors;
  find('list').replaceChildren(...some.map(rowOf));
  find('counts').textContent = some.length ? `${plural(some.length, 'executor')} of Python, the one that was used last first` : 'There is no executor. create_memory_code_runner makes one.';
  trouble(answer.why);
}

find('again').addEventListener('click', async () => {
  try {
    show(await ask('executors/list'));
    say(find('counts').textContent);
  } catch (error) {
    trouble(error.message);
  }
});
show(facts);
