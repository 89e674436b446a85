"""Counts the lines of all files of a kind in a folder, as "Read all TypeScript files in src/ and count lines" asks."""

import re
from typing import Final

from loci.core.json import JsonObject
from loci.workflows.intent import TEXT_SUFFIXES
from loci.workflows.toolbox import Toolbox

_INTENT: Final = re.compile(
    r"read all (?:the )?(?P<kind>\w{1,20}) files in (?P<folder>[\w.~@+/-]+) and count (?:the |their )?lines\.?", re.I
)
SUFFIXES: Final = {"typescript": "{ts,tsx}", "javascript": "{js,jsx}", "python": "py", "markdown": "md"}
SEARCHES, READS = ("search_files", {"path", "pattern"}), ("read_text_file", {"path"})
"""The tools of a server of files, and what they need."""
CODE: Final = """\
async function text(tool, given) {
  const value = await loci.call(tool, given);
  const text = typeof value === "string" ? value : value?.content;
  if (typeof text !== "string") throw new Error(`${tool} gave no text`);
  return text;
}
const found = (await text(search, { path, pattern })).split("\\n").map((one) => one.trim());
const paths = found.filter((one) => one && !/^no (matches|files|results)\\b/i.test(one));
if (!paths.length) throw new Error("Nothing was found to go on with");
const files = await Promise.all(paths.map(async (path) => {
  const content = await text(read, { path });
  return { path, lines: content === "" ? 0 : content.replace(/\\n$/, "").split("\\n").length };
}));
return { files, total_files: files.length, total_lines: files.reduce((sum, one) => sum + one.lines, 0) };
"""


def count_task(intent: str, toolbox: Toolbox) -> JsonObject | None:
    """The task, without an id; None if the intent asks for something else, or not one server has the tools for it."""
    asked = _INTENT.fullmatch(intent.strip())
    kind = asked["kind"].lower() if asked else ""
    suffix = SUFFIXES.get(kind, kind if kind in TEXT_SUFFIXES else "")
    servers = {one.partition(":")[0] for one in toolbox.ids()} if suffix else ()
    able = [one for one in servers if _has(toolbox, one, *SEARCHES) and _has(toolbox, one, *READS)]
    if asked is None or len(able) != 1:
        return None
    tools: JsonObject = {"search": f"{able[0]}:{SEARCHES[0]}", "read": f"{able[0]}:{READS[0]}"}
    arguments: JsonObject = {**tools, "path": asked["folder"], "pattern": f"**/*.{suffix}"}
    return {"type": "code_execution", "code": CODE, "arguments": arguments, "idempotent": True}


def _has(toolbox: Toolbox, server: str, name: str, needs: set[str]) -> bool:
    """True if the server has such a tool, which only reads and needs just these arguments."""
    if (id := f"{server}:{name}") not in toolbox.ids():
        return False
    tool = toolbox.facts(id)
    return tool.reads and {one.name for one in tool.parameters if one.required} == needs
