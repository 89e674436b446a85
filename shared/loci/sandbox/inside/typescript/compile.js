// Compiles TypeScript into a function that returns the value of the last expression, or says where the code is wrong.
import { builtinModules, stripTypeScriptTypes } from "node:module";
import { indexOf, OwnError } from "./captured.js";
import { NAME } from "./stack.js";
import { isIdentifierChar, isIdentifierStart, parse } from "../../vendored/acorn.mjs";

const AsyncFunction = (async () => {}).constructor;
// Awaited here: the caller would ask the promise for a method that code can replace.
const HEAD = "return await (async () => {\n";
const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"; // of the mappings in a source map
const LINES_ABOVE = 4; // two of the engine's own, the directive and HEAD
const RETURN = "return (";
const OPTIONS = {
  ecmaVersion: "latest", sourceType: "module", locations: true, allowHashBang: true,
  allowReturnOutsideFunction: true, allowAwaitOutsideFunction: true,
};
const IMPORT = "Only modules of Node can be imported, such as node:path. Tools need no import: filesystem.readTextFile({…}); loci.search_tools(\"…\") " +
  "finds one. Do without other packages, in plain TypeScript";
const BUILT_IN = new Set(builtinModules);
// They cannot be parameters of strict code.
const RESERVED = new Set((
  "arguments await break case catch class const continue debugger default delete do else enum eval export extends false " +
  "finally for function if implements import in instanceof interface let new null package private protected public return " +
  "static super switch this throw true try typeof var void while with yield"
).split(" "));

/** The code is no TypeScript. It says where, and why. */
class WrongCode extends OwnError {
  constructor(message, line, column, advice) { super("code", message); Object.assign(this, { line, column, advice }); }
}

/** True if code can read a variable of that name. */
export function isName(text) {
  if (RESERVED.has(text) || text === "") return false;
  const points = Array.from(text, (one) => one.codePointAt(0));
  return isIdentifierStart(points[0], true) && points.every((one) => isIdentifierChar(one, true));
}

/**
 * Run the code, and tell `done` how it ended: `value`, or `error` if it has `failed`.
 *
 * In another realm, as of node:vm, V8 itself writes stacks. So no file calls the code or waits for it.
 */
export const settle = new AsyncFunction("apply", "run", "values", "done", `"use strict";
  await null;
  try {
    done({ __proto__: null, value: await apply(run, undefined, values) });
  } catch (error) {
    done({ __proto__: null, error, failed: true });
  }
  //# sourceURL=ext:loci`);

/** Compile the code into `run`, which takes the values of the names. `imports` is true if the code may load modules. */
export function compile(source, names) {
  try {
    return compiled(source, names);
  } catch (error) {
    // The parser has no stack left, and does not tell where.
    throw error instanceof RangeError ? new OwnError("depth", "") : error;
  }
}

function compiled(source, names) {
  const { js, map } = javascript(source);
  const { body, at, imports } = returning(js, source, Boolean(map));
  const most = body.split("\n").length;
  const code = `"use strict";\n${HEAD}${body}\n})()\n//# sourceURL=${NAME}`;
  return { run: new AsyncFunction(...names, code), imports, place: (line, column) => place(line - LINES_ABOVE, column, at, map, most) };
}

function place(line, column, at, map, most) {
  if (line < 1 || line > most) return null; // in the lines around the code
  const onIt = at && line === at.line && column > at.column;
  const moved = !onIt ? column : column - RETURN.length > at.column ? column - RETURN.length : at.column + 1;
  return map ? mapped(map, line, moved) : { line, column: moved };
}

/** The place in the source, counted from 1, of a place in code that was rewritten. Code that ran may have changed any method. */
function mapped(mappings, line, column) {
  let best = { line: 1, column: 1 };
  let row = 1, at = 0, sourceLine = 0, sourceColumn = 0; // of a segment: its numbers are what to add
  let field = 0, value = 0, shift = 0;
  for (let i = 0; i <= mappings.length && row <= line; i += 1) {
    const one = mappings[i];
    if (one === "," || one === ";" || one === undefined) {
      if (field > 3 && (row < line || at < column)) best = { line: sourceLine + 1, column: sourceColumn + 1 };
      field = 0;
      if (one === ";") row += 1, at = 0;
      continue;
    }
    const digit = indexOf(DIGITS, one);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    const more = value & 1 ? -(value >> 1) : value >> 1;
    if (field === 0) at += more;
    if (field === 2) sourceLine += more;
    if (field === 3) sourceColumn += more;
    field += 1;
    value = shift = 0;
  }
  return best;
}

function javascript(given) {
  const source = given.replace(/^#!/, "//");
  try {
    return { js: stripTypeScriptTypes(source, { mode: "strip" }) }; // keeps lines and columns
  } catch (error) {
    if (error.message.startsWith("[InvalidSyntax]")) return { js: source };
  }
  // Enums, namespaces, parameter properties and <T>x must be rewritten.
  const made = stripTypeScriptTypes(source, { mode: "transform", sourceMap: true });
  const cut = made.lastIndexOf("\n//# sourceMappingURL=");
  const map = JSON.parse(atob(made.slice(made.indexOf("base64,", cut) + 7)));
  return { js: made.slice(0, cut), map: map.mappings };
}

function returning(given, source, isWritten) {
  const whole = /^\s*\{/.test(given) && objectLiteral(given);
  if (whole) return whole;
  const js = dynamic(given, source);
  const { body, imports } = parsed(js, source);
  // Rewritten code declares its namespaces behind everything else.
  const last = body.findLast((one) => one.type !== "EmptyStatement" && !(isWritten && isBare(one)));
  if (last?.type !== "ExpressionStatement") return { body: js, imports };
  const text = js.slice(last.start, last.end).replace(/;$/, "");
  const at = { line: last.loc.start.line, column: last.loc.start.column };
  return { body: `${js.slice(0, last.start)}${RETURN}${text}\n)${js.slice(last.end)}`, at, imports };
}

const isBare = (one) => one.type === "VariableDeclaration" && one.kind === "var" && one.declarations.every(({ init }) => !init);

/** `{a: 1}` alone is a value to people, and a block to the grammar. */
function objectLiteral(js) {
  const text = js.replace(/;\s*$/, "");
  try {
    const { body, imports } = parsed(`(${text}\n)`, "");
    if (body.length !== 1 || body[0].expression?.type !== "ObjectExpression") return null;
    return { body: `${RETURN}${text}\n)`, at: { line: 1, column: 0 }, imports };
  } catch {
    return null;
  }
}

function parsed(js, source) {
  let imports = false;
  const onToken = (token) => { imports ||= token.type.keyword === "import"; };
  let program;
  try {
    program = parse(js, { ...OPTIONS, onToken });
  } catch (error) {
    if (error instanceof RangeError) throw error;
    const { line, column } = error.loc ?? { line: 1, column: 0 };
    throw new Unplaced(error.message.replace(/ \(\d+:\d+\)$/, ""), line, column + 1, source);
  }
  for (const { type, loc } of program.body) {
    if (type.startsWith("Export")) throw new WrongCode("Nothing can be exported", loc.start.line, loc.start.column + 1, "Return the value instead");
  }
  return { body: program.body, imports };
}

/** The code with `await import` for each static import of a module of Node. Each line keeps its number. */
function dynamic(js, source) {
  if (!/\bimport\b/.test(js)) return js;
  let made = js;
  for (const one of parsed(js, source).body.filter(({ type }) => type === "ImportDeclaration").reverse()) {
    const { start, end, loc, specifiers } = one;
    const wanted = String(one.source.value), name = BUILT_IN.has(wanted) ? `node:${wanted}` : wanted;
    if (!name.startsWith("node:")) throw new WrongCode(`There is no module '${wanted}' here`, loc.start.line, loc.start.column + 1, IMPORT);
    const loaded = `await import(${JSON.stringify(name)})`;
    const whole = specifiers.find(({ type }) => type === "ImportNamespaceSpecifier");
    const names = specifiers.filter((other) => other !== whole).map(({ imported, local }) => {
      const from = imported?.name ?? imported?.value ?? "default";
      return `${JSON.stringify(from)}: ${local.name}`;
    });
    const parts = [...(whole ? [`${whole.local.name} = ${loaded}`] : []), ...(names.length ? [`{ ${names.join(", ")} } = ${loaded}`] : [])];
    const lines = "\n".repeat(js.slice(start, end).split("\n").length - 1);
    made = `${made.slice(0, start)}${parts.length ? `const ${parts.join(", ")}` : loaded};${lines}${made.slice(end)}`;
  }
  return made;
}

class Unplaced extends WrongCode {
  constructor(message, line, column, source) { super(message, line, column); this.source = source; }
}

/** The error with its place in TypeScript: acorn, which knows JavaScript only, stops at the first type. */
export async function placed(error) {
  if (!(error instanceof Unplaced)) return error;
  const before = "async function _(){";
  const bytes = new TextEncoder().encode(`${before}${error.source}\n}`);
  try {
    await import(`data:application/typescript;base64,${bytes.toBase64()}`); // declares a function, and calls nothing
    return error;
  } catch (told) {
    const text = String(told.message);
    const found = /:(\d+):(\d+)$/.exec(text.slice(-40));
    const [what] = text.replace(/^SyntaxError: /, "").replace(/ at data:\S+$/, "").split("\n", 1);
    if (!found || what.length > 1000) return error;
    const line = Number(found[1]);
    const column = Number(found[2]) - (line === 1 ? before.length : 0);
    const lines = error.source.split("\n");
    if (line > lines.length) return new WrongCode("The code ends too early", lines.length, lines.at(-1).length + 1);
    return new WrongCode(what, line, Math.max(1, column));
  }
}
