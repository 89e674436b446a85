// Notices what could make the result differ next time: clock, randomness, files, modules, memory.
import { apply, construct, defineProperty, freeze, get as read, getOwnPropertyDescriptor, getPrototypeOf, quoted } from "./captured.js";

const { getOwnPropertyNames } = Object;
// These always give the same answer. Any other global may not.
const STEADY = new Set((
  "Object Array Number parseFloat parseInt Infinity NaN undefined Boolean String Symbol Promise RegExp Error AggregateError EvalError " +
  "RangeError ReferenceError SyntaxError TypeError URIError SuppressedError globalThis self window JSON Math Date ArrayBuffer DataView " +
  "Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array BigUint64Array BigInt64Array Uint8ClampedArray Float16Array " +
  "Float32Array Float64Array Map BigInt Set Iterator WeakMap WeakSet Proxy Reflect DisposableStack AsyncDisposableStack decodeURI " +
  "decodeURIComponent encodeURI encodeURIComponent escape unescape isFinite isNaN console queueMicrotask atob btoa structuredClone " +
  "TextEncoder TextDecoder URL URLSearchParams URLPattern DOMException " +
  "close closed onerror onload onbeforeunload onunload onunhandledrejection"
).split(" "));
const ON_CONSOLE = ["time", "timeLog", "timeEnd", "timeStamp", "profile", "profileEnd"];

/** Everything not steady that code has used. No prototype is asked, since the code may have changed it. */
class Seen {
  #known = { __proto__: null };
  #told = "";
  add(what) {
    if (this.#known[what]) return;
    this.#known[what] = true;
    this.#told += `${this.#told && ","}${quoted(what)}`;
  }
  clear() {
    this.#known = { __proto__: null };
    this.#told = "";
  }
  json() { return `[${this.#told}]`; }
}

/** Watch from now on. Call it before the caller's code runs. */
export function watched(console) {
  const seen = new Seen();
  for (const name of getOwnPropertyNames(globalThis)) {
    if (!STEADY.has(name)) notice(globalThis, name, name, seen);
  }
  watchClock(seen);
  wrap(Math, "random", "Math.random", seen);
  for (const name of ON_CONSOLE) wrap(console, name, `console.${name}`, seen);
  // Code made from text may load modules.
  for (const one of [function () {}, async () => {}, function* () {}, async function* () {}]) {
    notice(getPrototypeOf(one), "constructor", "Function", seen);
  }
  freeze(Seen.prototype);
  return seen;
}

function notice(holder, name, what, seen) {
  const was = getOwnPropertyDescriptor(holder, name);
  if (!was?.configurable) return;
  let value = was.value;
  const get = () => { seen.add(what); return was.get ? apply(was.get, holder, []) : value; };
  const set = (given) => { seen.add(what); value = given; if (was.set) apply(was.set, holder, [given]); };
  defineProperty(holder, name, { get, set, configurable: true, enumerable: was.enumerable });
}

function wrap(holder, name, what, seen) {
  const was = holder[name];
  if (typeof was !== "function") return;
  const value = { [name](...given) { seen.add(what); return apply(was, this, given); } }[name];
  defineProperty(holder, name, { value, writable: true, configurable: true, enumerable: holder === console });
}

function watchClock(seen) {
  const Real = Date;
  const Watched = new Proxy(Real, {
    construct(target, given, made) {
      if (given.length === 0) seen.add("Date");
      return construct(target, given, made === Watched ? target : made);
    },
    apply() { seen.add("Date"); return Real(); },
    get(target, name) { return read(target, name); },
  });
  wrap(Real, "now", "Date", seen);
  defineProperty(Real.prototype, "constructor", { value: Watched, writable: true, configurable: true });
  defineProperty(globalThis, "Date", { value: Watched, writable: true, configurable: true });
}
