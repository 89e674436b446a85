"""A save that is searched: from the write of a file until a server on the same data finds it, under `loci watch`."""

import asyncio
import shutil
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from loci.core.identity import LOCAL
from loci.documents.ingest.local_files import local_path
from tests.bench.calls import tool_call
from tests.bench.children import serving
from tests.bench.connection import connected
from tests.bench.figures import Figure, time_figure
from tests.bench.library import DOCUMENTS, Library, app_on, server_of, thousand_documents
from tests.bench.servers import ROOT, Server, Servers
from tests.bench.texts import Texts

ROUNDS = 40
MOST = 1.0
TOO_LONG = 30.0


def watch(servers: Servers) -> list[Figure]:
    """Edits of one file among a thousand, with the model; beside them what taking the file in costs by itself."""
    library = thousand_documents(servers)
    data = servers.scratch / "watched"
    shutil.copytree(library.data, data)
    library = replace(library, data=data)
    server = server_of(servers, library, LOCI_FOLLOW_FOLDERS="false")
    file = library.notes / "part-0" / "edited.md"
    try:
        with serving(server) as served, _watching(library, server):
            loci = asyncio.run(_saved(file, served.port))
        floor = _taken(library, file)
    finally:
        file.unlink(missing_ok=True)
    name = f"{DOCUMENTS:,} files, a save until it is found, loci watch"
    return [time_figure(name, floor, loci, MOST, MOST)]


async def _saved(file: Path, port: int) -> list[float]:
    seconds = list[float]()
    async with connected(port) as connection:
        for number, text in enumerate(_texts()):
            word = f"quokka{number}"
            file.write_text(f"{text}\n\nThe {word} was seen.\n", "utf-8")
            began = time.perf_counter()
            asked = tool_call("2026-07-28", "search_documents", {"query": word, "limit": 1}).raw()
            while True:
                _, body = await connection.answer(asked)
                if f"The {word} was seen" in body:
                    break
                if time.perf_counter() - began > TOO_LONG:
                    raise RuntimeError(f"{word} was not found: {body}")
            seconds.append(time.perf_counter() - began)
    return seconds[1:]  # the first search loads the model


def _taken(library: Library, file: Path) -> list[float]:
    app, folder = app_on(library.data, library.models), local_path(str(library.notes))
    seconds = list[float]()
    for number, text in enumerate(_texts()):
        file.write_text(f"{text}\n\nThe numbat{number} was seen.\n", "utf-8")
        began = time.perf_counter()
        app.documents.parts.ingest.update(LOCAL, folder, [str(file)], [])
        seconds.append(time.perf_counter() - began)
    return seconds[1:]


def _texts() -> list[str]:
    """One document, edited again and again: all but one passage stay."""
    return [Texts(7).document()] * (ROUNDS + 1)


@contextmanager
def _watching(library: Library, server: Server) -> Generator[None]:
    command = [sys.executable, "-m", "loci", "watch", str(library.notes)]
    with subprocess.Popen(command, cwd=ROOT, env=server.environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None or not any(line.startswith("Watching ") for line in process.stdout):
                raise RuntimeError("loci watch did not start")
            yield
        finally:
            process.kill()
