// Code that is tried before the caller's: what is short, again and again, and of the rest of the language a bit of each.
export const OFTEN = [
  "const n: number = 1;\n({ n, b: [a, `${context.a}`] }); // done",
  "{ a: 1, 'b': [2, -3.5e1], ...context };",
  "2 + 2 * 3 - a / 4 % 5 === 7 && !false || (a ?? null); // done",
];
export const MUCH = `interface One { name: string; more?: number[] }
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
