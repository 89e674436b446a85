// Looks at everything when the page is there: faults first, each with what to do about it.
const WORST = ['fault', 'warning', 'ok'];

function rowOf(one) {
  const item = element('li');
  const text = element('div', one.what, { dir: 'auto' });
  if (one.advice) text.append(element('small', one.advice, { dir: 'auto' }));
  item.append(element('span', one.state, { className: `match ${one.state}` }), element('b', one.name, { dir: 'auto' }), text);
  return item;
}

async function look() {
  find('again').disabled = true;
  find('counts').textContent = 'Looking …';
  try {
    const { findings, whole, total } = await ask('health/findings');
    const count = (state) => findings.filter((one) => one.state === state).length;
    const sorted = [...findings].sort((one, other) => WORST.indexOf(one.state) - WORST.indexOf(other.state));
    find('list').replaceChildren(...sorted.map(rowOf));
    const about = whole ? 'what loci doctor says of this machine' : 'what concerns you';
    find('counts').textContent = `${count('ok')} ok, ${plural(count('warning'), 'warning')}, ${plural(count('fault'), 'fault')}: ${about}${total > findings.length ? `; ${total - findings.length} more` : ''}`;
  } catch (error) {
    find('counts').textContent = error.message;
  }
  say(find('counts').textContent);
  find('again').disabled = false;
}

find('again').addEventListener('click', look);
look();
