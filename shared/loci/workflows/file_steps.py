"""Steps that need no tool of their own: reading all files of a kind in a folder, and counting in what was read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from loci.core.errors import LociError
from loci.core.json import JsonObject
from loci.gateway.tool_words import plain_name, query_terms
from loci.search.words import index_words
from loci.workflows.binding import Step
from loci.workflows.intent import COUNTS
from loci.workflows.parameters import parameters
from loci.workflows.toolbox import Toolbox, ToolFacts

_SET: Final = re.compile(
    r"(?P<verb>\w+)\s+(?:(?:how many|the|number of)\s+)*(?:(?P<unit>lines?|words?|characters?)\s+(?:of|in|are in)\s+)?"
    r"(?:all|every|each)\s+(?:of\s+)?(?:the\s+)?(?:(?P<kind>[\w+#.]+)\s+)?(?:source\s+)?files?"
    r"(?:\s+matching)?\s+(?:in|under|of|from|below)(?:\s+the)?(?:\s+(?:folder|directory))?\s*",
    re.I,
)
"""A step about all files of a kind, without the folder and the pattern that it names."""
SUFFIXES: Final = {
    "typescript": "{ts,tsx}", "javascript": "{js,jsx,mjs,cjs}", "python": "py", "markdown": "md", "yaml": "{yaml,yml}",
    "text": "txt", "rust": "rs", "ruby": "rb", "c++": "{cpp,hpp,cc,h}", "c#": "cs", "kotlin": "kt", "shell": "sh",
    "golang": "go", "html": "{html,htm}", "jpeg": "{jpg,jpeg}",
}  # fmt: skip
_ENDINGS: Final = """
    ts tsx js jsx py md json yml yaml xml csv txt css go rs rb java c h cpp cs kt sh sql toml ini log svg php swift
"""
ENDINGS: Final = frozenset(_ENDINGS.split())
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


@dataclass(frozen=True, slots=True)
class FileSet:
    """The files in a folder that fit a pattern."""

    folder: str
    pattern: str
    counts: str
    """The unit to count in them, if the step asks for a count."""


@dataclass(frozen=True, slots=True)
class FileTools:
    """A tool that finds files by a pattern, and one of the same server that reads several."""

    finds: ToolFacts
    folder: str
    pattern: str
    reads: ToolFacts
    paths: str


def file_set(step: Step) -> FileSet | None:
    """The set of files that a step reads; None if it is about none, or about more."""
    found, values = _SET.fullmatch(step.plain), step.values
    if found is None or not _reads(found["verb"], found["unit"]):
        return None
    folders = [str(one.value) for one in values if one.is_folder]
    globs = [str(one.value) for one in values if one.kind == "glob"]
    if len(folders) != 1 or len(folders) + len(globs) != len(values) or len(globs) > 1:
        return None
    word = (found["kind"] or "").lower().lstrip(".")
    if word and (globs or word not in {*SUFFIXES, *ENDINGS}):
        return None
    pattern = globs[0] if globs else f"*.{SUFFIXES.get(word, word) or '*'}"
    return FileSet(folders[0], pattern if "/" in pattern else f"**/{pattern}", found["unit"] or "")


def _reads(verb: str, unit: str | None) -> bool:
    (stem, *_) = index_words(verb) or [""]
    return stem == "count" if unit else "read" in (stem, *query_terms(verb).get(stem, ()))


def file_tools(toolbox: Toolbox) -> FileTools | None:
    """The tools for sets of files, if a server has both."""
    reading = _facts(toolbox, "read multiple files by their paths")
    for finds in _facts(toolbox, "search files matching a glob pattern in a directory"):
        folder, pattern = _needed(finds, "path", "directory", "folder"), _needed(finds, "pattern", "glob")
        if not (folder and pattern) or len([one for one in parameters(finds.input_schema) if one.required]) != 2:
            continue
        for reads in reading:
            paths = _needed(reads, "paths", "files")
            if paths and reads.id.partition(":")[0] == finds.id.partition(":")[0]:
                return FileTools(finds, folder, pattern, reads, paths)
    return None


def _facts(toolbox: Toolbox, words: str) -> list[ToolFacts]:
    """The tools that read, or say nothing of what they change but begin with a word that does."""
    found = list[ToolFacts]()
    for one in toolbox.find(words, (), 8):
        try:
            found.append(toolbox.facts(one.tool.id))
        except LociError:
            continue
    return [one for one in found if one.reads or re.match(r"(?:read|get|list|search|find)", one.id.partition(":")[2])]


def _needed(tool: ToolFacts, *names: str) -> str | None:
    """The required parameter with one of the names."""
    needed = (one.name for one in parameters(tool.input_schema) if one.required)
    return next((one for one in needed if plain_name(one) in names), None)


def counting(text: str) -> str | None:
    """The code that counts in the result of the task before, as the step says; None if it asks for no count."""
    found = COUNTS.fullmatch(text)
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


def code_task(id: str, code: str, after: Sequence[str]) -> JsonObject:
    """A task that runs this code on the results of other tasks. Without an intent it is not learned."""
    return {
        "id": id,
        "type": "code_execution",
        "code": code,
        "dependsOn": [*after],
        "idempotent": True,
    }
