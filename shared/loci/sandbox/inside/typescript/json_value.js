// A value as JSON. docs/typescript.md lists how values are written that JSON has no form for.
const { stringify } = JSON;
const { isArray } = Array;
const { isView } = ArrayBuffer;
const { inspect } = Deno;
const isPlain = (x) => { const up = Object.getPrototypeOf(x); return up === null || up === Object.prototype; };
const tagOf = Function.prototype.call.bind(Object.prototype.toString);
const DEEPEST = 100;
const MOST = 2_000_000;
const SHOWN = { depth: 4, colors: false, iterableLimit: 100, strAbbreviateSize: 10_000 };

/** The value as JSON, and its kind if JSON does not have that. */
export function encoded(value) {
  const kind = kindOf(value);
  const state = { above: new Set(), left: MOST };
  return { json: stringify(plain(value, 0, state) ?? null), ...(kind ? { kind } : {}) };
}

/** The value as a console shows it. */
export const shown = (value) => inspect(value, SHOWN).toWellFormed();

function kindOf(value) {
  switch (typeof value) {
    case "undefined": case "bigint": case "symbol": case "function": return typeof value;
    case "number": return Number.isFinite(value) ? undefined : "number";
    case "object": {
      if (value === null || isArray(value) || isPlain(value)) return undefined;
      const name = tagOf(value).slice(8, -1);
      return name === "Object" ? undefined : name;
    }
  }
}

function plain(value, depth, state) {
  if (--state.left < 0) throw new RangeError("The result has too many parts");
  switch (typeof value) {
    case "string": return value.toWellFormed();
    case "number": return Number.isFinite(value) ? value : String(value);
    case "boolean": return value;
    case "bigint": return `${value}n`;
    case "undefined": return undefined;
    case "symbol": case "function": return shown(value);
  }
  if (value === null) return null;
  if (state.above.has(value)) return "[Circular]";
  if (depth >= DEEPEST) return shown(value);
  state.above.add(value);
  const made = composed(value, depth + 1, state);
  state.above.delete(value);
  return made;
}

function composed(value, depth, state) {
  const part = (x) => plain(x, depth, state) ?? null;
  if (isArray(value)) return Array.from(value, part);
  if (typeof value.toJSON === "function") return plain(value.toJSON(""), depth, state);
  if (value instanceof Map) {
    const pairs = [...value];
    if (!pairs.every(([key]) => typeof key === "string")) return pairs.map(([key, x]) => [part(key), part(x)]);
    return fields(pairs, depth, state);
  }
  if (value instanceof Set || (isView(value) && !(value instanceof DataView))) return Array.from(value, part);
  if (value instanceof Error) return { name: part(value.name), message: part(value.message), ...fields(Object.entries(value), depth, state) };
  if (value instanceof RegExp || value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet ||
    value instanceof ArrayBuffer || isView(value)) return shown(value);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) return plain(value.valueOf(), depth, state);
  return fields(Object.entries(value), depth, state);
}

function fields(pairs, depth, state) {
  const made = Object.create(null);
  for (const [key, x] of pairs) {
    const its = plain(x, depth, state);
    if (its !== undefined) made[key.toWellFormed()] = its;
  }
  return made;
}
