// Inside the wall: runs one call's code and ends. Everything it writes is judged again outside.
// JSON lines: the job and answers of tools on standard input; ready, log, call, result, error on standard output.
import { compile, frames, isName, placed, WrongCode } from "./compile.js";
import { watched } from "./seen.js";
import { clients } from "./tools.js";
import { MUCH, OFTEN } from "./trial.js";
import { encoded, shown } from "./values.js";

const { stringify, parse } = JSON;
const encoder = new TextEncoder(), decoder = new TextDecoder();
const encode = encoder.encode.bind(encoder), decode = decoder.decode.bind(decoder);
const write = Deno.stdout.writeSync.bind(Deno.stdout), read = Deno.stdin.read.bind(Deno.stdin), readNow = Deno.stdin.readSync.bind(Deno.stdin);
const { Console } = Deno[Deno.internal];
const LEVELS = ["debug", "log", "warn", "error", "info"];
const LONGEST_MESSAGE = 4000;
const MOST_LOGGED = 256 * 1024; // characters, and lines below: what is beyond is counted
const MOST_LINES = 1000;
const ROUNDS = 8, SOME = 3;

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
// Nothing else is to be done until it comes, and a thread that waits for it would first have to wake this one.
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

// Hygiene, and no wall: what has no use here, or would stay for others.
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

let asked = 0;
function ask(tool, args) {
  asked += 1;
  send(stringify({ t: "call", n: asked, tool, args: args ?? {} }));
  listen();
  return asked;
}
// Only while an answer is due: code that waits for nothing ends at once, not at its deadline.
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

/** What code finds under which name: its context, the tools, and of the context what can be a name. */
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

// All that can be done before there is code is done: what runs for the first time takes ten times as long as the next.
const seen = watched(ownConsole);
const TRIAL = { context: { a: 1 }, servers: [{ names: ["b"], tools: [{ id: "b:c", spellings: ["c"] }] }] };
for (let round = 0; round < ROUNDS; round += 1) for (const tried of round < SOME ? [...OFTEN, MUCH] : OFTEN) {
  const code = tried + " ".repeat(round); // the engine remembers what it has compiled
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
// It is killed now: ending by itself would only take time, and its memory is still to be read.
while (await line() !== null);
