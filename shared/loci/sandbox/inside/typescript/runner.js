// Runs behind the wall: one job's code, then it ends. Everything it writes is judged again outside.
// JSON lines: the job and answers of tools on standard input; ready, log, call, result, error on standard output.
import {
  append, apply, bytesOf, decode, encode, firm, freeze, indexOf, isError, keys, lowered, OwnError, parse, promise, quoted, replace, setPrototypeOf, slice, stringify,
  text, viewBuffer, viewLength, wellFormed,
} from "./captured.js";
import { compile, isName, placed, settle } from "./compile.js";
import { encoded, shown } from "./json_value.js";
import { watched } from "./repeatability.js";
import { bare, frames, own, parts, placeBy, unaddressed } from "./stack.js";

const write = Deno.stdout.writeSync.bind(Deno.stdout), read = Deno.stdin.read.bind(Deno.stdin), readNow = Deno.stdin.readSync.bind(Deno.stdin);
const { Console } = Deno[Deno.internal];
const LEVELS = ["debug", "log", "warn", "error", "info"];
const LONGEST_MESSAGE = 4000;
const MOST_LOGGED = 256 * 1024; // characters, and lines below: what is beyond is counted
const MOST_LINES = 1000;
const LAST_END = firm(/\n$/);
const ROUNDS = 8, SOME = 3;
// Code to try before the caller's: short code often, and a bit of everything else in the language.
const OFTEN = [
  "const n: number = 1;\n({ n, b: [a, `${context.a}`] }); // done",
  "{ a: 1, 'b': [2, -3.5e1], ...context };",
  "2 + 2 * 3 - a / 4 % 5 === 7 && !false || (a ?? null); // done",
];
const MUCH = `interface One { name: string; more?: number[] }
  type Pair<T> = [T, T] | undefined;
  const all: Array<One> = [{ name: "x" }, { name: 'y', more: [1, 2] }];
  function sum(values: number[] = [], ...rest: number[]): number { let total = 0; for (const one of values) total += one; return total; }
  class Box<T> { #held = 1; value?: T; constructor(value?: T) { this.value = value; } get held() { return this.#held; } static of() { return new Box(1); } }
  const later = async ({ name, more = [] }: One, at?: number) => { try { await null; } catch (error) { throw error; } finally { at ||= 1; } return [name, ...more]; };
  const found = new Map<string, number>(all.map((one, at) => [one.name, at] as [string, number]));
  for (let at = 0, end = 3; at < end; at++) { if (at > 1) break; else continue; }
  while (false) {} do {} while (false);
  switch (all.length) { case 1: break; default: }
  const text = "a-b".replace(/[a-z]+(-)/gu, (whole) => whole.toUpperCase()).split("-");
  let last = all.filter((one) => one.more?.length).reduce((most, one) => Math.max(most, sum(one.more!)), 0);
  last = typeof text === "string" ? -last : last ** 2;
  const made = Object.fromEntries([...found.entries()].sort((x, y) => x[1] - y[1]));
  await Promise.all(all.map((one) => later(one)));
  [made, last, Box.of().held, JSON.stringify(text), function* () { yield 1; }, delete (made as any).x, void 0]`;

// The code may write to the same stream, and leave a line without an end: so each of ours begins a new one.
function send(told) {
  const bytes = encode(`\n${told}\n`), length = viewLength(bytes);
  for (let sent = write(bytes); sent < length;) sent += write(new bytesOf(viewBuffer(bytes), sent));
}

let tail = "", isWhole = false; // whether a line in it has its end: to search all of it for each part would take quadratic time
const buffer = new bytesOf(65536);
function held() {
  if (!isWhole) return undefined;
  const end = indexOf(tail, "\n"), found = slice(tail, 0, end);
  tail = slice(tail, end + 1);
  isWhole = indexOf(tail, "\n") >= 0;
  return found;
}
function take(count) {
  if (count === null) return false;
  const part = decode(new bytesOf(viewBuffer(buffer), 0, count), { stream: true });
  isWhole ||= indexOf(part, "\n") >= 0;
  tail += part;
  return true;
}
async function line() {
  for (let found; ;) {
    if ((found = held()) !== undefined) return found;
    if (!take(await read(buffer))) return null;
  }
}
// There is nothing else to do until it comes, and a thread that waited for it would have to wake this one.
function firstLine() {
  for (let found; ;) {
    if ((found = held()) !== undefined) return found;
    if (!take(readNow(buffer))) return null;
  }
}

let room = MOST_LOGGED, lines = 0, dropped = 0;
function log(given, level) {
  if (lines >= MOST_LINES || room <= 0) {
    dropped += 1;
    return;
  }
  const whole = wellFormed(bare(replace(given, LAST_END, "")));
  const kept = whole.length > room ? wellFormed(`${slice(whole, 0, room)}…`) : whole;
  lines += 1;
  room -= kept.length;
  send(`{"t":"log","level":"${LEVELS[level] ?? "info"}","text":${quoted(kept)}}`);
}

// Hygiene, not a wall: remove what has no use here, would leave something for others, or takes a name that data often has.
const NOT_HERE = [
  "caches", "localStorage", "sessionStorage", "Worker", "WebSocket", "EventSource", "BroadcastChannel", "alert", "confirm", "prompt",
  "GPU", "name", "close", "closed", "onload", "onunload", "onbeforeunload",
];
for (const name of NOT_HERE) delete globalThis[name];
const ownConsole = new Console(log);
const info = ownConsole.info;
globalThis.console = Object.assign(ownConsole, { info: (...given) => { LEVELS[1] = "info"; apply(info, ownConsole, given); LEVELS[1] = "log"; } });
const GLOBALS = new Set(Object.getOwnPropertyNames(globalThis));

const optional = (name, value, how) => value === undefined ? "" : `,"${name}":${how(value)}`;

/** The fields that tell of what was thrown. The code decides what that is, so each of them may throw. */
function wrong(error) {
  if (OwnError.what(error) === "code") {
    const { message, line, column, advice } = error;
    return `"name":"SyntaxError","message":${quoted(message)},"stack":[]${optional("line", line, text)}${optional("column", column, text)}${optional("advice", advice, quoted)}`;
  }
  if (!isError(error)) {
    const isPlain = typeof error !== "object" || error === null;
    const message = isPlain ? text(error) : shown(error);
    return `"name":"${isPlain ? "Error" : "Uncaught"}","message":${quoted(slice(message, 0, LONGEST_MESSAGE))},"stack":[]`;
  }
  const said = bare(of(error, "message")), isOurs = of(error, "name") === "TypeError" || of(error, "name") === "SyntaxError";
  const message = isOurs ? unaddressed(said) : said;
  const start = `"name":${quoted(slice(of(error, "name"), 0, 100))},"message":${quoted(slice(message, 0, LONGEST_MESSAGE))}`;
  const stack = tried([], () => typeof error.stack === "string" ? frames(error.stack) : []);
  const inside = tried([], () => parts(error));
  const more = stringify({ __proto__: null, ...own(stack), name: undefined, stack: rooted(stack), parts: rooted(inside) });
  return `${start},${slice(more, 1, -1)}`;
}
/** What `how` reads, or the other if the code does not let it. */
function tried(other, how) {
  try { return how(); } catch { return other; }
}
function of(error, name) {
  return tried(name === "name" ? "Error" : "Its text cannot be read", () => text(error[name]));
}
/** The values without what the code may have given to all of their kind, such as a way to become JSON. */
function rooted(list) {
  for (let at = 0; at < list.length; at += 1) if (typeof list[at] === "object") setPrototypeOf(list[at], null);
  return setPrototypeOf(list, null);
}
function fail(error) {
  const what = OwnError.what(error);
  if (what === "depth" || what === "values") return send(`{"t":"limit","what":"${what}","message":${quoted(error.message)},"dropped":${dropped}}`);
  const told = tried('"name":"Error","message":"What was thrown cannot be read","stack":[]', () => wrong(error));
  send(`{"t":"error",${told},"dropped":${dropped}}`);
}

// Tools as code calls them: github.listCommits({…}), github.list_commits({…}), mcp["github:list_commits"]({…}).
/** A tool failed, or may not be called: `code` says which. */
class ToolError extends Error {
  constructor({ code, message }) { super(message); this.name = "ToolError"; this.code = code; }
}
/** No tool has this name. */
class UnknownTool extends ReferenceError {
  constructor(message) { super(message); this.name = "ReferenceError"; this.code = UNKNOWN; }
}
const UNKNOWN = "TOOL_NOT_FOUND", MOST_NEAR = 5;
/** The arguments of tools that code calls with a text: loci.call("github:list_commits", {…}), loci.search_tools("list commits"). */
const SAID = {
  __proto__: null,
  "loci:call": (name, args = {}) => ({ name, arguments: args }),
  "pml:search_tools": (query, more) => typeof query === "string" ? { query, ...more } : query,
};

/** The clients by the names that code has for them, and what takes their answers. `ask` sends a call and returns its number. */
function clients({ servers, listing = [] }, ask) {
  const waiting = { __proto__: null };
  let open = 0;
  const sent = (tool, args) => new promise((done, failed) => { waiting[ask(tool, args)] = { __proto__: null, done, failed }; open += 1; });
  const call = (tool) => {
    const said = SAID[tool];
    return said ? (first, second) => sent(tool, said(first, second)) : (args = {}) => sent(tool, args);
  };
  const named = Object.create(null);
  const all = Object.create(null);
  for (const { names, tools, failure } of servers) {
    const methods = Object.create(null);
    for (const { id, spellings } of tools) {
      const method = call(id);
      all[id] = method;
      for (const name of spellings) methods[name] = method;
    }
    if (names[0] === "loci" && listing.length) methods.tools = freeze(listing);
    const client = explaining(freeze(methods), names[0], tools.map(({ spellings }) => spellings.at(-1)), failure);
    for (const name of names) {
      named[name] = client;
      Object.defineProperty(all, name, { value: client }); // `mcp.github`, also if something else is called `github`
    }
  }
  const mcp = explaining(freeze(all), "mcp", [...Object.keys(named), ...Object.keys(all)]);
  const answered = (answer) => {
    const one = waiting[answer.n];
    if (!one) return;
    delete waiting[answer.n];
    open -= 1;
    if (answer.ok) one.done(answer.value);
    else one.failed(answer.error.code === UNKNOWN ? new UnknownTool(answer.error.message) : new ToolError(answer.error));
  };
  return { named, mcp, answered, open: () => open };
}

function explaining(methods, name, known, failure) {
  return new Proxy(methods, {
    get(target, key) {
      if (typeof key === "symbol" || key === "then" || key === "toJSON") return undefined;
      if (key in target) return target[key];
      if (failure) throw new ToolError({ code: "TOOL_DENIED", message: `${name} has no tools here: ${failure}` });
      throw new UnknownTool(`${name} has no tool '${key}' here; the nearest are ${nearest(key, known)}. loci.search_tools("…") finds more`);
    },
  });
}

/** The known names that share the most pairs of letters with this one. */
function nearest(name, known) {
  const plain = lowered(name), shares = [];
  for (let at = 0; at < known.length; at += 1) {
    const other = lowered(text(known[at]));
    let shared = 0;
    for (let from = 0; from + 2 <= plain.length; from += 1) if (indexOf(other, slice(plain, from, from + 2)) >= 0) shared += 1;
    append(shares, shared / (plain.length + other.length));
  }
  let found = "";
  for (let count = 0; count < MOST_NEAR && count < known.length; count += 1) {
    let best = 0;
    for (let at = 1; at < known.length; at += 1) if (shares[at] > shares[best]) best = at;
    found += `${found && ", "}${text(known[best])}`;
    shares[best] = -1;
  }
  return found || "none";
}

let asked = 0;
function ask(tool, args) {
  asked += 1;
  send(`{"t":"call","n":${asked},"tool":${quoted(tool)},"args":${stringify(args ?? {}) ?? "{}"}}`);
  listen();
  return asked;
}
// Listen only while an answer is due, so that code that waits for nothing ends at once, not at its deadline.
let listening = false;
async function listen() {
  if (listening) return;
  listening = true;
  do {
    const text = await line();
    if (text === null) break;
    bridge.answered(parse(text));
  } while (bridge.open() > 0);
  listening = false;
}

/** The names that code can use: `context`, the tools, and every key of the context that can be a name. */
function named(job, bridge) {
  const known = { __proto__: null };
  for (const [name, client] of Object.entries(bridge.named)) {
    if (isName(name) && name !== "console" && !(/^[A-Z]/.test(name) && name in globalThis)) known[name] = client;
  }
  // Code that names a global means it, whatever the data has.
  for (const [name, value] of Object.entries(job.context)) if (isName(name) && !(GLOBALS.has(name) || name in globalThis)) known[name] = value;
  Object.assign(known, { context: job.context, mcp: bridge.mcp });
  return known;
}

for (const [kind, held] of [["unhandledrejection", "reason"], ["error", "error"]]) globalThis.addEventListener(kind, (event) => {
  event.preventDefault();
  fail(event[held]);
});

async function ran(run, values) {
  const ended = await new promise((done) => { settle(apply, run, values, done); });
  if (ended.failed) throw ended.error;
  return ended.value;
}

// Do everything that can be done before the job comes: what runs for the first time takes ten times as long.
const seen = watched(ownConsole);
const TRIAL = { context: { a: 1 }, servers: [{ names: ["b"], tools: [{ id: "b:c", spellings: ["c"] }] }] };
for (let round = 0; round < ROUNDS; round += 1) for (const tried of round < SOME ? [...OFTEN, MUCH] : OFTEN) {
  const code = tried + " ".repeat(round); // the engine caches what it has compiled
  const job = parse(stringify({ ...TRIAL, code }));
  const known = named(job, clients(job, () => 0));
  encoded(await ran(compile(job.code, Object.keys(known)).run, Object.values(known)));
}
send('{"t":"ready"}');

const job = parse(firstLine());
const bridge = clients(job, ask);
const known = named(job, bridge);

const names = keys(known), values = Object.values(known);

let code;
try {
  code = compile(job.code, names);
} catch (error) {
  fail(await placed(error));
}
if (code) {
  placeBy(code.place);
  seen.clear();
  if (code.imports) seen.add("import");
  try {
    const { json, kind } = encoded(await ran(code.run, values));
    send(`{"t":"result","value":${json}${optional("kind", kind, quoted)},"seen":${seen.json()},"dropped":${dropped}}`);
  } catch (error) {
    fail(error);
  }
}
// We wait to be killed: ending by itself takes time, and our memory use is still to be read.
while (await line() !== null);
