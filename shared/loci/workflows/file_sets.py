"""Steps on many files at once: `all TypeScript files in src/`."""

import re
from dataclasses import dataclass
from typing import Final

from loci.core.errors import LociError
from loci.search.words import index_words, query_words
from loci.workflows.entities import Given, masked
from loci.workflows.intent import VERB_STEMS
from loci.workflows.parameters import parameters
from loci.workflows.prior_steps import plain
from loci.workflows.toolbox import Toolbox, ToolFacts

_MANY: Final = re.compile(r"\b(?:all|every|each)\b.*?\bfiles?\b|\b(?:\w+\s+)?files\s+(?:in|under|of|from)\b", re.I)
_KIND: Final = re.compile(r"(?<![\w+#])(?P<kind>\.?[A-Za-z+#]+)\s+(?:source\s+)?files?\b", re.I)
SUFFIXES: Final = {
    "typescript": "{ts,tsx}", "javascript": "{js,jsx,mjs,cjs}", "python": "py", "markdown": "md", "yaml": "{yaml,yml}",
    "text": "txt", "rust": "rs", "ruby": "rb", "c++": "{cpp,hpp,cc,h}", "c#": "cs", "kotlin": "kt", "shell": "sh",
    "golang": "go", "html": "{html,htm}", "jpeg": "{jpg,jpeg}",
}  # fmt: skip
_ENDINGS: Final = """
    ts tsx js jsx py md json yml yaml xml csv txt html css go rs rb java c h cpp cs kt sh sql toml ini log svg php swift
    pdf
"""
ENDINGS: Final = frozenset(_ENDINGS.split())
_PLAIN: Final = frozenset(
    index_words("file files directory line lines word words character source number count content")
)
_NO_KIND: Final = frozenset({"all", "the", "every", "each", "these", "those", "of", "its"})


@dataclass(frozen=True, slots=True)
class FileSet:
    """The files in a folder that fit a pattern."""

    folder: str
    pattern: str


@dataclass(frozen=True, slots=True)
class FileTools:
    """A tool that finds files by a pattern, and one of the same server that reads several."""

    finds: ToolFacts
    folder: str
    pattern: str
    reads: ToolFacts
    paths: str


def file_set(text: str, found: tuple[Given, ...]) -> FileSet | None:
    """The set of files that a step is about; None if it is about none, or says not where."""
    if not _MANY.search(text):
        return None
    folder = next((str(one.value) for one in found if one.is_folder or one.kind == "slug"), None)
    glob = next((str(one.value) for one in found if one.kind == "glob"), None)
    if folder is None:
        return None
    if glob:
        return FileSet(folder, glob if "/" in glob else f"**/{glob}")
    kind = _KIND.search(text)
    said = {*index_words(kind["kind"] if kind else ""), *VERB_STEMS, *_PLAIN}
    if len(found) != (2 if glob else 1) or not said.issuperset(query_words(masked(text, [*found]))):
        return None  # it is about something else: the files of a pull request, say
    word = kind["kind"].lower().lstrip(".") if kind else ""
    if word in _NO_KIND or not word:
        return FileSet(folder, "**/*.*")
    if word in SUFFIXES or word in ENDINGS:
        return FileSet(folder, f"**/*.{SUFFIXES.get(word, word)}")
    return None


def file_tools(toolbox: Toolbox) -> FileTools | None:
    """The tools for sets of files, if a server has both."""
    reading = [one for one in _facts(toolbox, "read multiple files by their paths") if one.reads or _is_unsaid(one)]
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
    found = list[ToolFacts]()
    for one in toolbox.find(words, (), 8):
        try:
            found.append(toolbox.facts(one.tool.id))
        except LociError:
            continue
    return found


def _needed(tool: ToolFacts, *names: str) -> str | None:
    """The required parameter with one of the names."""
    return next((one.name for one in parameters(tool.input_schema) if one.required and plain(one.name) in names), None)


def _is_unsaid(tool: ToolFacts) -> bool:
    """True if its name says that it reads: some servers say nothing of what their tools change."""
    return tool.id.partition(":")[2].lower().startswith(("read", "get", "list"))
