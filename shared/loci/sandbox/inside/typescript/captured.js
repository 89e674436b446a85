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
export const { keys, defineProperty, freeze } = Object;
export const text = String;
export const bytesOf = Uint8Array;
export const promise = Promise;
export const inspect = Deno.inspect;
export { getOwnPropertyDescriptor, getPrototypeOf };

export const wellFormed = free(String.prototype.toWellFormed);
export const slice = free(String.prototype.slice);
export const indexOf = free(String.prototype.indexOf);
export const startsWith = free(String.prototype.startsWith);
export const replace = free(String.prototype.replace);
export const replaceAll = free(String.prototype.replaceAll);
export const tagOf = free(Object.prototype.toString);
export const errorText = free(Error.prototype.toString);
export const mapEach = free(Map.prototype.forEach);
export const setEach = free(Set.prototype.forEach);
export const viewLength = getter(typedArray, "length");
export const viewBuffer = getter(typedArray, "buffer");

const encoder = new TextEncoder(), decoder = new TextDecoder();
export const encode = encoder.encode.bind(encoder);
export const decode = decoder.decode.bind(decoder);

/** The text in quotation marks, without half characters. */
export const quoted = (value) => stringify(wellFormed(value));
