// A value as JSON. docs/typescript.md lists how values are written that JSON has no form for.
import {
  getPrototypeOf, inspect, OwnError, isArray, isArrayBuffer, isBooleanObject, isDataView, isError, isFinite, isMap, isNumberObject, isPromise, isRegExp,
  isSet, isStringObject, isView, isWeakMap, isWeakSet, keys, mapEach, quoted, setEach, slice, tagOf, text, viewLength, wellFormed,
} from "./captured.js";

const { prototype } = Object;
const DEEPEST = 100;
const MOST = 250_000; // values in a result: whoever reads it has to hold them all
const TOO_MANY = `The result has more than ${MOST.toLocaleString("en")} values`;
const SHOWN = { depth: 4, colors: false, iterableLimit: 100, strAbbreviateSize: 10_000 };

/** The value as JSON, and its kind if JSON does not have that. */
export function encoded(value) {
  const kind = kindOf(value);
  return { json: written(value, 0, { above: null, left: MOST }) ?? "null", kind };
}

/** The value as a console shows it. */
export const shown = (value) => wellFormed(inspect(value, SHOWN));

function kindOf(value) {
  switch (typeof value) {
    case "undefined": case "bigint": case "symbol": case "function": return typeof value;
    case "number": return isFinite(value) ? undefined : "number";
    case "object": {
      if (value === null || isArray(value)) return undefined;
      const up = getPrototypeOf(value);
      if (up === null || up === prototype) return undefined;
      const name = slice(tagOf(value), 8, -1);
      return name === "Object" ? undefined : name;
    }
  }
}

/** The value as JSON; undefined if it is left out. `above` links the objects that it is in. */
function written(value, depth, state) {
  if (--state.left < 0) throw new OwnError("values", TOO_MANY);
  switch (typeof value) {
    case "string": return quoted(value);
    case "number": return isFinite(value) ? text(value) : `"${value}"`;
    case "boolean": return text(value);
    case "bigint": return `"${value}n"`;
    case "undefined": return undefined;
    case "symbol": case "function": return quoted(shown(value));
  }
  if (value === null) return "null";
  for (let one = state.above; one !== null; one = one.up) if (one.value === value) return '"[Circular]"';
  if (depth >= DEEPEST) return quoted(shown(value));
  const up = state.above;
  state.above = { value, up };
  const made = composed(value, depth + 1, state);
  state.above = up;
  return made;
}

function composed(value, depth, state) {
  if (isArray(value)) return list(value, value.length, depth, state);
  if (typeof value.toJSON === "function") return written(value.toJSON(""), depth, state);
  if (isMap(value)) return mapped(value, depth, state);
  if (isSet(value)) {
    let made = "";
    setEach(value, (one) => { made += `${made && ","}${written(one, depth, state) ?? "null"}`; });
    return `[${made}]`;
  }
  if (isView(value) && !isDataView(value)) return list(value, viewLength(value), depth, state);
  if (isError(value)) {
    const first = `{"name":${written(value.name, depth, state) ?? "null"},"message":${written(value.message, depth, state) ?? "null"}`;
    const more = fields(value, depth, state);
    return `${first}${more && ","}${more}}`;
  }
  if (isView(value) || isRegExp(value) || isPromise(value) || isWeakMap(value) || isWeakSet(value) || isArrayBuffer(value)) return quoted(shown(value));
  if (isNumberObject(value) || isStringObject(value) || isBooleanObject(value)) return written(value.valueOf(), depth, state);
  return `{${fields(value, depth, state)}}`;
}

function list(value, length, depth, state) {
  let made = "";
  for (let at = 0; at < length; at += 1) made += `${at ? "," : ""}${written(value[at], depth, state) ?? "null"}`;
  return `[${made}]`;
}

function mapped(value, depth, state) {
  let named = true;
  mapEach(value, (_, key) => { named &&= typeof key === "string"; });
  let made = "";
  mapEach(value, (one, key) => {
    const its = written(one, depth, state);
    if (!named) made += `${made && ","}[${written(key, depth, state) ?? "null"},${its ?? "null"}]`;
    else if (its !== undefined) made += `${made && ","}${quoted(key)}:${its}`;
  });
  return named ? `{${made}}` : `[${made}]`;
}

function fields(value, depth, state) {
  const names = keys(value);
  let made = "";
  for (let at = 0; at < names.length; at += 1) {
    const its = written(value[names[at]], depth, state);
    if (its !== undefined) made += `${made && ","}${quoted(names[at])}:${its}`;
  }
  return made;
}
