// The legend: the meaning of the colours, and switches for the layers.
function makeLegend(changed) {
  function toggle(name, number, dot, isOn, set) {
    const button = element('button');
    button.setAttribute('aria-pressed', String(isOn));
    button.append(dot, element('bdi', name), element('small', numeral(number)));
    button.addEventListener('click', () => {
      const next = button.getAttribute('aria-pressed') !== 'true';
      button.setAttribute('aria-pressed', String(next));
      set(next);
      changed();
    });
    return button;
  }

  const sizes = picture.groups.map(() => 0);
  for (const one of documents) sizes[one.group]++;
  picture.groups.forEach((name, group) => {
    const dot = element('span', undefined, { className: 'dot' });
    dot.style.setProperty('--colour', `var(${colourName(group)})`);
    const item = element('li');
    item.append(toggle(name, sizes[group], dot, true, (isOn) => (shown.groups[group] = isOn)));
    find('groups').append(item);
  });
  const layers = [];
  if (missing.length > 0) {
    const dot = element('span', undefined, { className: 'dot ghost' });
    layers.push(toggle('Missing documents', missing.length, dot, shown.missing, (isOn) => (shown.missing = isOn)));
  }
  if (picture.gaps.length > 0) {
    const dot = element('span', undefined, { className: 'dot gap' });
    layers.push(toggle('Similar, not linked', picture.gaps.length, dot, shown.gaps, (isOn) => (shown.gaps = isOn)));
  }
  find('layers').append(...layers);
  find('layers').hidden = layers.length === 0;
  find('legend').hidden = documents.length === 0;
  find('fold').addEventListener('click', () => {
    const isOpen = find('keys').hidden;
    find('keys').hidden = !isOpen;
    find('fold').setAttribute('aria-expanded', String(isOpen));
  });
}
