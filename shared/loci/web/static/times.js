// Times by the server's clock, which may differ from this one.
const AHEAD_MS = facts.now * 1000 - Date.now();
const serverNow = () => (Date.now() + AHEAD_MS) / 1000;

function took(seconds) {
  const ms = Math.max(0, seconds * 1000);
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s`;
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${Math.floor(minutes / 1440)} days`;
}

// A time of the day, and before it the day if that is not today.
function timeOf(seconds) {
  const at = new Date(seconds * 1000);
  const isToday = at.toDateString() === new Date().toDateString();
  const day = isToday ? '' : `${MONTHS[at.getMonth()]} ${at.getDate()}, `;
  const two = (number) => String(number).padStart(2, '0');
  const made = element('time', `${day}${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`);
  made.dateTime = at.toISOString();
  return made;
}

const STATUS = { running: 'running', paused: 'waiting', complete: 'complete', aborted: 'aborted', error: 'failed' };
// The same as the rest of a sentence about a workflow.
const SAID = { running: 'is running', paused: 'waits for an answer', complete: 'is complete', aborted: 'was aborted', error: 'failed' };
const statusSaid = (status) => SAID[status] || `is ${status}`;
const statusChip = (status) => element('span', STATUS[status] || status, { className: `chip ${status}` });
