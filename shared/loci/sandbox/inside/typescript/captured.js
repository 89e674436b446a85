// The language as it was before the caller's code ran. That code may replace any method, and what tells of it must still work.
const { bind, call } = Function.prototype;
const { getOwnPropertyDescriptor, getPrototypeOf } = Object;

/** The method as a function whose first argument is `this`. */
const free = bind.bind(call);
const getter = (holder, name) => free(getOwnPropertyDescriptor(holder, name).get);
const typedArray = getPrototypeOf(Uint8Array.prototype);

export const { stringify, parse } = JSON;
export const { isArray } = Array;
export const { isView } = ArrayBuffer;
export const { isFinite } = Number;
export const { isError } = Error;
export const { apply, construct, get } = Reflect;
export const { keys, defineProperty, freeze, setPrototypeOf } = Object;
export const text = String;
export const bytesOf = Uint8Array;
export const promise = Promise;
export const inspect = Deno.inspect;
// `instanceof` would ask a method that code can replace.
export const {
  isArrayBuffer, isBooleanObject, isDataView, isMap, isNumberObject, isPromise, isRegExp, isSet, isStringObject, isWeakMap, isWeakSet,
} = Deno[Deno.internal].core;
export { getOwnPropertyDescriptor, getPrototypeOf };

export const wellFormed = free(String.prototype.toWellFormed);
export const slice = free(String.prototype.slice);
export const lowered = free(String.prototype.toLowerCase);
export const trim = free(String.prototype.trim);
export const indexOf = free(String.prototype.indexOf);
export const startsWith = free(String.prototype.startsWith);
export const replace = free(String.prototype.replace);
export const replaceAll = free(String.prototype.replaceAll);
export const tagOf = free(Object.prototype.toString);
export const errorText = free(Error.prototype.toString);
export const mapEach = free(Map.prototype.forEach);
export const setEach = free(Set.prototype.forEach);
export const weakHas = free(WeakSet.prototype.has);
export const weakAdd = free(WeakSet.prototype.add);
export const viewLength = getter(typedArray, "length");
export const viewBuffer = getter(typedArray, "buffer");

const { exec, [Symbol.replace]: replacing } = RegExp.prototype;
/** The regular expression with methods of its own, whatever others get. */
export const firm = (regex) => Object.defineProperties(regex, {
  exec: { value: exec }, flags: { value: regex.flags }, [Symbol.replace]: { value: replacing },
});

/** Put it at the end of the list, whatever setters its places have. */
export const append = (list, value) =>
  defineProperty(list, list.length, { __proto__: null, value, writable: true, enumerable: true, configurable: true });

const encoder = new TextEncoder(), decoder = new TextDecoder();
export const encode = encoder.encode.bind(encoder);
export const decode = decoder.decode.bind(decoder);

/** The text in quotation marks, without half characters. */
export const quoted = (value) => stringify(wellFormed(value));

/** An error of the runner. `instanceof` would ask a method that code can replace, and its name is also free to the code. */
export class OwnError extends Error {
  #what;
  constructor(what, message) { super(message); this.#what = what; }

  /** What the error is about, if it is one of these: "code", or the limit that was reached: "depth", "values". */
  static what(error) { return typeof error === "object" && error !== null && #what in error ? error.#what : null; }
}
