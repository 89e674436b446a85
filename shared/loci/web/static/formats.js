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
  return `${number < 10 ? Math.round(10 * number) / 10 : Math.round(number)} ${units[at]}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

function dayOf(time) {
  const at = new Date(time);
  const made = element('time', `${MONTHS[at.getMonth()]} ${at.getDate()}, ${at.getFullYear()}`);
  made.dateTime = time;
  made.title = time;
  return made;
}

// A day and a time of the day, in words.
function moment(time) {
  const at = new Date(time);
  const two = (number) => String(number).padStart(2, '0');
  return `${MONTHS[at.getMonth()]} ${at.getDate()}, ${at.getFullYear()}, ${two(at.getHours())}:${two(at.getMinutes())}`;
}
