// Stacks as their reader knows the code: lines and columns of what was sent, and nothing of what runs it.
import {
  append, apply, defineProperty, errorText, firm, getPrototypeOf, indexOf, isArray, isError, replace, replaceAll, slice, startsWith, text, trim, weakAdd, weakHas,
  wellFormed,
} from "./captured.js";
import { shown } from "./json_value.js";

export const NAME = "code.ts";
const MOST_PARTS = 20, DEEPEST = 4, LONGEST_PART = 500;
// V8's own form has a comma: another realm, as of node:vm, has other errors.
const FRAME = firm(/^\s+at (?:(?:async )?(.+?) \()?(code\.ts(?:, <anonymous>)?|module):(\d+):(\d+)\)?$/);
const OF_MODULE = firm(/(^|[ "])data:[^\n]*?:(\d+:\d+)$/gm);
const MODULE = firm(/"data:[^"\n]*"/g);
const MOST_FRAMES = 10;

const FOLDER = import.meta.url.replace(/[^/]*$/, "");
const PATH = FOLDER.replace("file://", "");
// This folder, and those that it is in up to the one with all packages: code can name them from here.
const FOLDERS = ["./", "../", "../../", "../../../", "../../../../"].flatMap((up) => {
  const { href, pathname } = new URL(up, FOLDER);
  return [[href, up], [pathname, up]];
});

/** The text without the paths of what runs the code. */
export function bare(given) {
  let made = given;
  for (let at = 0; at < FOLDERS.length; at += 1) made = replaceAll(made, FOLDERS[at][0], FOLDERS[at][1]);
  return made;
}

/** The methods of all frames. They cannot be replaced. */
const methods = (() => {
  const before = Error.prepareStackTrace;
  Error.prepareStackTrace = (_, sites) => getPrototypeOf(sites[0]);
  const found = new Error().stack;
  Error.prepareStackTrace = before;
  return found;
})();

/** The name of the file or module of a frame. */
const sourceOf = (site) => text(apply(methods.getScriptNameOrSourceURL, site, []) ?? apply(methods.getFileName, site, []) ?? "");

/** True if it is one of what runs the code. */
const isOurs = (source) => startsWith(source, FOLDER) || startsWith(source, PATH) || startsWith(source, "ext:");

/** A frame that has no path of what runs the code. */
class Site {
  #site;
  constructor(site) { this.#site = site; }
  static is(one) { return typeof one === "object" && one !== null && #site in one; }
  static inner(one) { return Site.is(one) ? one.#site : one; }
  static ask(one, name) { return apply(methods[name], one.#site, []); }
}
for (const name of Object.getOwnPropertyNames(methods)) {
  const value = { [name]() {
    const told = Site.ask(this, name);
    return typeof told === "string" ? bare(told) : told;
  } }[name];
  if (name !== "constructor") defineProperty(Site.prototype, name, { value, writable: true, configurable: true, enumerable: false });
}

/** Let this prepare stacks, until code does it with a function of its own, which gets frames that have no path. */
function prepareBy(ours) {
  const wrapped = new WeakSet();
  weakAdd(wrapped, ours);
  let now = ours;
  const set = (given) => {
    if (typeof given !== "function") now = ours;
    else if (weakHas(wrapped, given)) now = given; // it was read here before, and comes back
    else weakAdd(wrapped, now = (error, sites) => apply(given, Error, [error, theirs(sites)]));
  };
  // Whoever could define it anew would get the frames of V8.
  defineProperty(Error, "prepareStackTrace", { get: () => now, set, configurable: false, enumerable: false });
}

function theirs(sites) {
  const found = [];
  for (let at = 0; at < sites.length; at += 1) {
    const one = sites[at];
    if (Site.is(one)) append(found, one);
    else if (!isOurs(sourceOf(one))) append(found, new Site(one));
  }
  return found;
}

const { getFunctionName, getLineNumber, getColumnNumber, isEval, toString } = methods;

let place = () => null; // of the code that runs: the line and column that its writer knows
export function placeBy(given) { place = given; }

/** The text without the addresses of modules that are made of text. */
export const unaddressed = (given) => replace(replace(given, OF_MODULE, "$1module:$2"), MODULE, '"data:…"');

prepareBy(prepared);

function prepared(error, sites) {
  let made;
  try { made = errorText(error); } catch { made = "Error"; }
  for (let at = 0; at < sites.length; at += 1) {
    let line;
    try { line = frame(Site.inner(sites[at])); } catch { continue; }
    if (line) made += `\n    at ${line}`;
  }
  return made;
}

function frame(site) {
  const source = sourceOf(site);
  const name = label(text(apply(toString, site, [])));
  const line = apply(getLineNumber, site, []), column = apply(getColumnNumber, site, []);
  if (source === NAME) {
    const at = place(line, column);
    if (!at) return null;
    // What the code is wrapped in has this name. Strict code cannot give it to a function of its own.
    const own = apply(getFunctionName, site, []) === "eval" ? "" : name;
    return located(own, `${NAME}:${at.line}:${at.column}`);
  }
  if (isOurs(source)) return null;
  if (startsWith(source, "data:")) return located(name, `module:${line}:${column}`);
  if (apply(isEval, site, [])) return located(name === "eval" ? "" : name, `eval:${line}:${column}`);
  return bare(apply(toString, site, []));
}

const located = (name, where) => name ? `${name} (${where})` : where;

/** The function of a frame as V8 names it, without its place. */
function label(whole) {
  for (let at = 0; at < whole.length; at += 1) if (whole[at] === " " && whole[at + 1] === "(") return slice(whole, 0, at);
  return "";
}

/** The frames of the code itself in a stack, and of modules that it made of text: they are `inModule`. */
export function frames(stack) {
  const found = [];
  for (let from = 0, end; from <= stack.length && found.length < MOST_FRAMES; from = end + 1) {
    end = indexOf(stack, "\n", from);
    if (end < 0) end = stack.length;
    const match = FRAME.exec(slice(stack, from, end));
    if (!match) continue;
    const name = match[1] ?? "", file = match[2], line = +match[3], column = +match[4];
    const isRaw = file.length > NAME.length, inModule = file === "module";
    const at = isRaw ? place(line, column) : { line, column };
    const its = inModule ? `${name} (module)` : isRaw && name === "eval" ? "" : name;
    if (at) append(found, { name: wellFormed(slice(trim(its), 0, 100)), ...at, inModule });
  }
  return found;
}

/** The innermost frame of the code itself. */
export function own(found) {
  for (let at = 0; at < found.length; at += 1) if (!found[at].inModule) return found[at];
}

/** The errors that an error is made of or caused by, each as a line. */
export function parts(error) {
  const found = [];
  const add = (one, how, depth) => {
    if (found.length >= MOST_PARTS || depth > DEEPEST) return;
    const at = isError(one) && typeof one.stack === "string" ? own(frames(one.stack)) : undefined;
    const where = at ? ` (line ${at.line}, column ${at.column})` : "";
    append(found, wellFormed(slice(how + (isError(one) ? errorText(one) : shown(one)), 0, LONGEST_PART)) + where);
    inside(one, depth);
  };
  const inside = (one, depth) => {
    if (!isError(one)) return;
    const { errors, cause } = one;
    if (isArray(errors)) for (let at = 0; at < errors.length && at < MOST_PARTS; at += 1) add(errors[at], `[${at + 1}] `, depth + 1);
    if (cause !== undefined) add(cause, "Caused by: ", depth + 1);
  };
  inside(error, 0);
  return found;
}
