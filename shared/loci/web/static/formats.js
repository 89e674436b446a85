// How pages write sizes and days.
function sizeOf(bytes) {
  if (bytes < 1000) return plural(bytes, 'byte');
  const units = ['bytes', 'KB', 'MB', 'GB'];
  let at = 0;
  let number = bytes;
  while (number >= 1000 && at < units.length - 1) {
    number /= 1000;
    at++;
  }
  return `${number.toLocaleString('en', { maximumFractionDigits: number < 10 && at > 0 ? 1 : 0 })} ${units[at]}`;
}

function dayOf(time) {
  const made = element('time', new Date(time).toLocaleDateString('en', { year: 'numeric', month: 'short', day: 'numeric' }));
  made.dateTime = time;
  made.title = time;
  return made;
}
