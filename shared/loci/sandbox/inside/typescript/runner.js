// Runs behind the wall: one job's code, then it ends. Everything it writes is judged again outside.
// JSON lines: the job and answers of tools on standard input; ready, log, call, result, error on standard output.
import { compile, frames, isName, placed, WrongCode } from "./compile.js";
import { encoded, shown } from "./json_value.js";
import { watched } from "./repeatability.js";

const { stringify, parse } = JSON;
const { freeze } = Object;
const encoder = new TextEncoder(), decoder = new TextDecoder();
const encode = encoder.encode.bind(encoder), decode = decoder.decode.bind(decoder);
const write = Deno.stdout.writeSync.bind(Deno.stdout), read = Deno.stdin.read.bind(Deno.stdin), readNow = Deno.stdin.readSync.bind(Deno.stdin);
const { Console } = Deno[Deno.internal];
const LEVELS = ["debug", "log", "warn", "error", "info"];
const LONGEST_MESSAGE = 4000;
const MOST_LOGGED = 256 * 1024; // characters, and lines below: what is beyond is counted
const MOST_LINES = 1000;
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

function send(text) {
  const bytes = encode(`${text}\n`);
  for (let sent = 0; sent < bytes.length;) sent += write(bytes.subarray(sent));
}

let tail = "";
const buffer = new Uint8Array(65536);
function held() {
  const end = tail.indexOf("\n");
  if (end < 0) return undefined;
  const found = tail.slice(0, end);
  tail = tail.slice(end + 1);
  return found;
}
function take(count) {
  if (count !== null) tail += decode(buffer.subarray(0, count), { stream: true });
  return count !== null;
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
function log(text, level) {
  if (lines >= MOST_LINES || room <= 0) {
    dropped += 1;
    return;
  }
  const whole = text.replace(/\n$/, "").toWellFormed();
  const kept = whole.length > room ? `${whole.slice(0, room)}…`.toWellFormed() : whole;
  lines += 1;
  room -= kept.length;
  send(stringify({ t: "log", level: LEVELS[level] ?? "info", text: kept }));
}

// Hygiene, not a wall: remove what has no use here, or would leave something for others.
const NOT_HERE = ["caches", "localStorage", "sessionStorage", "Worker", "WebSocket", "EventSource", "BroadcastChannel", "alert", "confirm", "prompt"];
for (const name of [...NOT_HERE, "GPU"]) delete globalThis[name];
const ownConsole = new Console(log);
const info = ownConsole.info;
globalThis.console = Object.assign(ownConsole, { info: (...given) => { LEVELS[1] = "info"; info(...given); LEVELS[1] = "log"; } });

function wrong(error, place) {
  const message = String(error?.message ?? error).slice(0, LONGEST_MESSAGE).toWellFormed();
  const name = error instanceof WrongCode ? "SyntaxError" : String(error?.name ?? "Error").slice(0, 100).toWellFormed();
  const stack = place && typeof error?.stack === "string" ? frames(error.stack, place) : [];
  const where = error instanceof WrongCode ? { line: error.line, column: error.column } : stack[0] ?? {};
  const thrown = error instanceof Error ? {} : { thrown: shown(error).slice(0, LONGEST_MESSAGE) };
  return { name, message, line: where.line, column: where.column, advice: error?.advice, stack, ...thrown };
}
function fail(error, place, seen) {
  let told;
  try { told = wrong(error, place); } catch { told = { name: "Error", message: "What was thrown cannot be read", stack: [] }; }
  send(stringify({ t: "error", ...told, dropped }));
}

// Tools as code calls them: github.listCommits({…}), github.list_commits({…}), mcp["github:list_commits"]({…}).
/** A tool failed, or may not be called: `code` says which. */
class ToolError extends Error {
  constructor({ code, message }) { super(message); this.name = "ToolError"; this.code = code; }
}

/** The clients by the names that code has for them, and what takes their answers. `ask` sends a call and returns its number. */
function clients(servers, ask) {
  const waiting = new Map();
  const call = (tool) => (args = {}) => new Promise((done, failed) => { waiting.set(ask(tool, args), { done, failed }); });
  const named = Object.create(null);
  const all = Object.create(null);
  for (const { names, tools } of servers) {
    const methods = Object.create(null);
    for (const { id, spellings } of tools) {
      const method = call(id);
      all[id] = method;
      for (const name of spellings) methods[name] = method;
    }
    const client = explaining(freeze(methods), names[0], tools.map(({ spellings }) => spellings.at(-1)));
    for (const name of names) {
      named[name] = client;
      Object.defineProperty(all, name, { value: client }); // `mcp.github`, also if something else is called `github`
    }
  }
  const mcp = explaining(freeze(all), "mcp", Object.keys(all));
  const answered = ({ n, ok, value, error }) => {
    const one = waiting.get(n);
    if (!waiting.delete(n)) return;
    if (ok) one.done(value); else one.failed(new ToolError(error));
  };
  return { named, mcp, answered, open: () => waiting.size };
}

function explaining(methods, name, known) {
  return new Proxy(methods, {
    get(target, key) {
      if (typeof key === "symbol" || key === "then" || key === "toJSON") return undefined;
      if (key in target) return target[key];
      throw new ToolError({ code: "TOOL_DENIED", message: `${name} has no tool '${key}' here; it has: ${known.join(", ") || "none"}` });
    },
  });
}

let asked = 0;
function ask(tool, args) {
  asked += 1;
  send(stringify({ t: "call", n: asked, tool, args: args ?? {} }));
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
    if (isName(name) && !(/^[A-Z]/.test(name) && name in globalThis)) known[name] = client;
  }
  for (const [name, value] of Object.entries(job.context)) if (isName(name)) known[name] = value;
  Object.assign(known, { context: job.context, mcp: bridge.mcp });
  delete known.console;
  delete known.undefined;
  return known;
}

let place; // of the code that runs
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  fail(event.reason, place);
});

// Do everything that can be done before the job comes: what runs for the first time takes ten times as long.
const seen = watched(ownConsole);
const TRIAL = { context: { a: 1 }, servers: [{ names: ["b"], tools: [{ id: "b:c", spellings: ["c"] }] }] };
for (let round = 0; round < ROUNDS; round += 1) for (const tried of round < SOME ? [...OFTEN, MUCH] : OFTEN) {
  const code = tried + " ".repeat(round); // the engine caches what it has compiled
  const job = parse(stringify({ ...TRIAL, code }));
  const known = named(job, clients(job.servers, () => 0));
  encoded(await compile(job.code, Object.keys(known)).run(...Object.values(known)));
}
send(stringify({ t: "ready" }));

const job = parse(firstLine());
const bridge = clients(job.servers, ask);
const known = named(job, bridge);

let code;
try {
  code = compile(job.code, Object.keys(known));
} catch (error) {
  fail(error instanceof WrongCode ? await placed(error) : error);
}
if (code) {
  place = code.place;
  seen.clear();
  if (code.imports) seen.add("import");
  try {
    const { json, kind } = encoded(await code.run(...Object.values(known)));
    const told = stringify({ kind, seen: [...seen], dropped });
    send(`{"t":"result","value":${json},${told.slice(1)}`);
  } catch (error) {
    fail(error, place);
  }
}
// We wait to be killed: ending by itself takes time, and our memory use is still to be read.
while (await line() !== null);
