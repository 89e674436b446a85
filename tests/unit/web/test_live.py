"""How often a page asks: its script in Node, with a stream, timers and a clock that the test moves."""

import json
import subprocess
from importlib.resources import files
from pathlib import Path

from infra.node import NODE

STATIC = Path(str(files("loci.web"))) / "static"
BROWSER = """
const streams = [], pauses = [];
let next, looks = 0;
const clearTimeout = () => {}, setTimeout = (turn, pause) => { next = turn; pauses.push(pause); };
const document = new EventTarget(), performance = { now: () => 0 }, address = () => '', addEventListener = () => {};
const find = () => ({});
class EventSource extends EventTarget {
  static CONNECTING = 0; static OPEN = 1; static CLOSED = 2;
  readyState = 0;
  constructor() { super(); streams.push(this); }
  close() { this.readyState = 2; }
  open() { this.readyState = 1; this.dispatchEvent(new Event('open')); }
  end(state = 0) { this.readyState = state; this.dispatchEvent(new Event('error')); }
}
const stream = () => streams.at(-1);
// The pauses after so many turns of the timer, each behind an answer that has ended if `answer` makes one.
async function turns(count, answer = () => {}) {
  pauses.length = 0;
  for (let turn = 0; turn < count; turn++) { answer(); await next(); }
  return [...pauses];
}
"""
PLAY = """
const acted = watch(['workflow'], async () => { looks++; });
const answered = () => { stream().open(); stream().end(); };
const refused = () => stream().end(EventSource.CLOSED);
(async () => {
  const told = {};
  await next();
  stream().open();
  told.open = await turns(3);
  stream().end();
  told.ended = await turns(8, answered);
  stream().dispatchEvent(new Event('workflow'));
  await new Promise(setImmediate);
  told.event = await turns(3, answered);
  const before = [streams.length, looks];
  await acted();
  told.acted = [streams.length - before[0], looks - before[1]];
  refused(); refused();
  told.refused = await turns(4, refused);
  told.again = streams.length > before[0] + 3;
  console.log(JSON.stringify(told));
})();
"""


def test_a_page_asks_seldom_where_answers_end_until_something_happens() -> None:
    script = BROWSER + (STATIC / "live.js").read_text("utf-8") + PLAY
    done = subprocess.run([NODE, "-e", script], capture_output=True, text=True, check=True, timeout=60)
    told = json.loads(done.stdout)
    assert told["open"] == [10_000] * 3  # a stream of a laptop
    assert told["ended"][:3] == [15_000, 22_500, 33_750]
    assert told["ended"][-1] == 60_000
    assert told["event"][0] == 15_000
    assert told["acted"] == [1, 1]
    assert told["refused"] == sorted(told["refused"])
    assert told["again"]
