// Stacks as their reader knows the code: lines and columns of what was sent, and nothing of what runs it.
import { apply, errorText, getPrototypeOf, isError, replace, replaceAll, slice, startsWith, text } from "./captured.js";
import { shown } from "./json_value.js";

export const NAME = "code.ts";
const MOST_PARTS = 20, DEEPEST = 4, LONGEST_PART = 500;
const FOLDER = import.meta.url.replace(/[^/]*$/, "");
const PATH = FOLDER.replace("file://", "");
// V8's own form has a comma: another realm, as of node:vm, has other errors.
const FRAME = /^\s+at (?:(?:async )?(.+?) \()?(code\.ts(?:, <anonymous>)?|module):(\d+):(\d+)\)?$/;
const OF_MODULE = /(^|[ "])data:[^\n]*?:(\d+:\d+)$/gm;
const MODULE = /"data:[^"\n]*"/g;

let place = () => null; // of the code that runs: the line and column that its writer knows
export function placeBy(given) { place = given; }

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

/** The text without the addresses of modules that are made of text. */
export const unaddressed = (given) => replace(replace(given, OF_MODULE, "$1module:$2"), MODULE, '"data:…"');

const methods = (() => {
  const before = Error.prepareStackTrace;
  Error.prepareStackTrace = (_, sites) => getPrototypeOf(sites[0]);
  const sites = new Error().stack;
  Error.prepareStackTrace = before;
  return sites;
})();
const { getScriptNameOrSourceURL, getFileName, getFunctionName, getLineNumber, getColumnNumber, isEval, toString } = methods;

Object.defineProperty(Error, "prepareStackTrace", { value: prepared, writable: true, configurable: true, enumerable: false });

function prepared(error, sites) {
  let made;
  try { made = errorText(error); } catch { made = "Error"; }
  for (let at = 0; at < sites.length; at += 1) {
    let line;
    try { line = frame(sites[at]); } catch { continue; }
    if (line) made += `\n    at ${line}`;
  }
  return made;
}

function frame(site) {
  const source = text(apply(getScriptNameOrSourceURL, site, []) ?? apply(getFileName, site, []) ?? "");
  const name = label(text(apply(toString, site, [])));
  const line = apply(getLineNumber, site, []), column = apply(getColumnNumber, site, []);
  if (source === NAME) {
    const at = place(line, column);
    if (!at) return null;
    // What the code is wrapped in has this name. Strict code cannot give it to a function of its own.
    const own = apply(getFunctionName, site, []) === "eval" ? "" : name;
    return located(own, `${NAME}:${at.line}:${at.column}`);
  }
  if (startsWith(source, FOLDER) || startsWith(source, PATH) || startsWith(source, "ext:")) return null;
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
  for (const line of stack.split("\n")) {
    const match = FRAME.exec(line);
    if (!match) continue;
    const [, name = "", file, row, column] = match;
    const isRaw = file.length > NAME.length, inModule = file === "module";
    const at = isRaw ? place(Number(row), Number(column)) : { line: Number(row), column: Number(column) };
    const its = inModule ? `${name} (module)` : isRaw && name === "eval" ? "" : name;
    if (at) found.push({ name: its.trim().slice(0, 100).toWellFormed(), ...at, inModule });
    if (found.length === 10) break;
  }
  return found;
}

/** The innermost frame of the code itself. */
export const own = (found) => found.find((one) => !one.inModule);

/** The errors that an error is made of or caused by, each as a line. */
export function parts(error) {
  const found = [];
  const add = (one, how, depth) => {
    if (found.length >= MOST_PARTS || depth > DEEPEST) return;
    const at = isError(one) && typeof one.stack === "string" ? own(frames(one.stack)) : undefined;
    const where = at ? ` (line ${at.line}, column ${at.column})` : "";
    found.push((how + (isError(one) ? errorText(one) : shown(one))).slice(0, LONGEST_PART).toWellFormed() + where);
    inside(one, depth);
  };
  const inside = (one, depth) => {
    if (!isError(one)) return;
    if (Array.isArray(one.errors)) one.errors.slice(0, MOST_PARTS).forEach((inner, at) => add(inner, `[${at + 1}] `, depth + 1));
    if (one.cause !== undefined) add(one.cause, "Caused by: ", depth + 1);
  };
  inside(error, 0);
  return found;
}
