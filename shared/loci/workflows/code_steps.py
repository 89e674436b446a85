"""Steps that need no tool: counting, and splitting the result of a tool into lines."""

import re
from collections.abc import Sequence
from typing import Final

from loci.core.json import JsonObject

COUNTS: Final = re.compile(
    r"^(?:count|sum up|number|total|tally)\s+(?:up\s+)?(?:the\s+|all\s+|their\s+|its\s+|how many\s+)*(?:number of\s+)?"
    r"(?P<what>lines?|words?|characters?|files?|items?|entries|results?|them)\b(?P<rest>.*)$",
    re.I,
)
# A tool that reads several files at once may give one text: each path, a colon, its content, and `---` between them.
_TEXTS: Final = """\
const all = Object.values(deps);
const paths = all.length > 1 ? all.find((one) => Array.isArray(one)) ?? [] : [];
const given = all.find((one) => one !== paths);
const value = given !== null && typeof given === "object" && "content" in given ? given.content : given;
const begins = (part) => paths.find((path) => part.startsWith(`${path}:`));
const files = [];
if (typeof value !== "string") {
  for (const one of Array.isArray(value) ? value : [value]) {
    files.push({ path: one?.path ?? "", text: typeof one === "string" ? one : one?.text ?? JSON.stringify(one) });
  }
} else if (paths.some((path) => value.startsWith(`${path}:`))) {
  for (const part of value.split("\\n---\\n")) {
    const path = begins(part);
    if (path === undefined) files[files.length - 1].text += `\\n---\\n${part}`;
    else if (part.startsWith(`${path}:\\n`)) files.push({ path, text: part.slice(path.length + 2) });
    else throw new Error(part);
  }
  for (const one of files) one.text = one.text.replace(/\\n$/, "");
} else files.push({ path: "", text: value });
"""
_UNITS: Final = {
    "line": 'text === "" ? 0 : text.replace(/\\n$/, "").split("\\n").length',
    "word": "text.split(/\\s+/).filter((one) => one).length",
    "character": "[...text].length",
}
LINES: Final = """\
const given = Object.values(deps)[0];
const value = given !== null && typeof given === "object" && "content" in given ? given.content : given;
const lines = (Array.isArray(value) ? value.map(String) : String(value).split("\\n"))
  .map((one) => one.replace(/^\\[FILE\\]\\s*/, "").trim())
  .filter((one) => one && !one.startsWith("[DIR]") && !/^no (matches|files|results)\\b/i.test(one));
if (!lines.length) throw new Error("Nothing was found to go on with");
return lines;
"""


def counting(text: str) -> str | None:
    """The code that counts in the result of the task before, as the step says; None if it asks for no count."""
    found = COUNTS.match(text)
    if not found:
        return None
    what = found["what"].lower().rstrip("s")
    if what in _UNITS:
        return (
            f"{_TEXTS}const counted = files.map(({{ path, text }}) => ({{ path, {what}s: {_UNITS[what]} }}));\n"
            f"return {{ files: counted, total_files: counted.length, "
            f"total_{what}s: counted.reduce((sum, one) => sum + one.{what}s, 0) }};\n"
        )
    return (
        "const given = Object.values(deps).at(-1);\n"
        'const list = Array.isArray(given) ? given : given !== null && typeof given === "object"\n'
        "  ? Object.values(given).find((one) => Array.isArray(one)) ?? given.content ?? given : given;\n"
        'const all = typeof list === "string" ? list.split("\\n").filter((one) => one.trim()) : list;\n'
        "return { count: Array.isArray(all) ? all.length : Object.keys(all ?? {}).length };\n"
    )


def code_task(id: str, code: str, after: Sequence[str], intent: str) -> JsonObject:
    """A task that runs this code on the results of other tasks."""
    return {
        "id": id,
        "type": "code_execution",
        "code": code,
        "dependsOn": [*after],
        "intent": intent,
        "idempotent": True,
    }
