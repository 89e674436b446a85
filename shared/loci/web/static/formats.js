// How pages write sizes, times and states.
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

// A day and a time of the day: of seconds, or of a time as JSON has it.
function timeOf(time) {
  const at = new Date(typeof time === 'number' ? time * 1000 : time);
  const two = (number) => String(number).padStart(2, '0');
  const day = `${MONTHS[at.getMonth()]} ${at.getDate()}, ${at.getFullYear()}`;
  return element('time', `${day}, ${two(at.getHours())}:${two(at.getMinutes())}`, { dateTime: at.toISOString() });
}

// A tool as people call it: a task that runs code has none.
const toolName = (tool) => (tool === 'code_execution' ? 'code' : tool);

// Now by the server's clock, which may differ from this one.
const AHEAD_MS = facts.now ? facts.now * 1000 - Date.now() : 0;
const serverNow = () => (Date.now() + AHEAD_MS) / 1000;

function took(seconds) {
  const ms = Math.max(0, seconds * 1000);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 1440)} days`;
}

const STATUS = { running: 'running', paused: 'waiting', complete: 'complete', aborted: 'aborted', error: 'failed' };
