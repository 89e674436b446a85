// The graph as of a day: a slider over the days of the documents, the last one at first. Arrow keys move it.
function makeTime(changed) {
  const slider = find('day');
  const last = days.length - 1;
  find('time').hidden = last < 1;
  if (last < 1) return { toEnd() {} };
  if (documents.some((one) => one.changed)) find('time').title = 'A document without a date of its own has the day of its last change';
  slider.max = last;
  slider.value = last;

  function follow() {
    const at = Number(slider.value);
    goToDay(at < last ? days[at] : '');
    const number = documents.filter((_, point) => isThere[point]).length;
    const told = at < last ? `${plural(number, 'document')} until ${days[at]}` : `All documents, until ${days[last]}`;
    find('as-of').textContent = told;
    slider.setAttribute('aria-valuetext', told);
    changed();
  }

  slider.addEventListener('input', follow);
  follow();
  return {
    toEnd() {
      slider.value = last;
      follow();
    },
  };
}
