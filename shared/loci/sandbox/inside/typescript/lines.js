// Where a place in written code was in its source: the mappings of a source map.
const DIGITS = new Map(Array.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", (one, at) => [one, at]));

/** The place in the source, from 1 on. */
export function mapped(mappings, line, column) {
  let best = { line: 1, column: 1 };
  let row = 0, sourceLine = 0, sourceColumn = 0;
  for (const group of mappings.split(";").slice(0, line)) {
    row += 1;
    let at = 0;
    for (const segment of group.split(",")) {
      if (!segment) continue;
      const [moved, , lines, columns] = numbers(segment);
      at += moved;
      if (lines === undefined) continue;
      sourceLine += lines;
      sourceColumn += columns;
      if (row < line || at < column) best = { line: sourceLine + 1, column: sourceColumn + 1 };
    }
  }
  return best;
}

function numbers(segment) {
  const found = [];
  let value = 0, shift = 0;
  for (const one of segment) {
    const digit = DIGITS.get(one);
    value += (digit & 31) << shift;
    shift += 5;
    if (digit & 32) continue;
    found.push(value & 1 ? -(value >> 1) : value >> 1);
    value = shift = 0;
  }
  return found;
}
