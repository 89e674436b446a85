"""Cuts documents into chunks, the passages that a search finds; many of them in several processes."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TypeVar

from loci.core.background import cores
from loci.core.errors import Unavailable
from loci.core.worker_process import EndedError, Workers
from loci.documents.document import is_session
from loci.documents.filtering import properties_of
from loci.markdown.markdown import parse
from loci.markdown.nouns import DocumentDate, Problem, WrittenLinks
from loci.search.inference import Embedder, estimated_tokens
from loci.search.passages import LONGEST, Count, chunks, passages
from loci.search.ranking import Chunk

MAX_CHUNKS = 20_000
SECONDS = 600.0
"""Seconds of the processor for a request to another process. No text needs them: parsers take time in proportion."""
FEW = 200
"""Documents that the caller cuts itself: for these few, other processes would start too late to help."""
BATCH = 16
"""Documents of one request to another process."""
MOST_PROCESSES = 4
"""The most processes that cut. One process writes the index, and more than these would wait for it."""

Job = tuple[str, str, bytes]
"""The id, the path and the content of a document."""
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class CutDocument:
    """All that Loci reads out of a text: it depends on nothing but the text and its path."""

    title: str
    tags: tuple[str, ...]
    date: DocumentDate | None
    lines: int
    problems: tuple[Problem, ...]
    said: WrittenLinks
    chunks: tuple[Chunk, ...]
    properties: tuple[str, ...] = ()


def cut_for(embedder: Embedder, id: str, path: str, content: bytes) -> CutDocument:
    """Parse the document at that path, and cut it into passages that the current model can read whole."""
    model = embedder.model()
    return cut(id, path, content, embedder.count, min(LONGEST, model.longest) if model else LONGEST)


def cut(id: str, path: str, content: bytes, count: Count, longest: int = LONGEST) -> CutDocument:
    """Parse the document at that path, and cut it into passages of at most `longest` tokens."""
    parsed = parse(path, content)
    found = passages(parsed.text, parsed.blocks, count, longest, MAX_CHUNKS + 1)
    problems, language = parsed.problems, parsed.language
    if len(found) > MAX_CHUNKS:
        line = parsed.text.count("\n", 0, found[MAX_CHUNKS].start) + 1
        problems += (Problem(f"Only its first {MAX_CHUNKS:,} passages are searched: split it", line),)
    properties = properties_of(parsed.front_matter)
    tags, said = parsed.tags, parsed.said
    if is_session(properties):  # its text quotes code, and perhaps strangers: it links and tags nothing
        tags, said = (), replace(said, mentions=())
    return CutDocument(
        title=parsed.title,
        tags=tags,
        date=parsed.date,
        lines=parsed.lines,
        problems=problems,
        said=said,
        chunks=tuple(chunks(id, path, parsed.title, parsed.text, found[:MAX_CHUNKS], parsed.name_words, language)),
        properties=properties,
    )


def cut_in_parallel(items: Iterable[Item], job: Callable[[Item], Job]) -> Generator[tuple[Item, CutDocument | None]]:
    """Cut many documents for which there is no model, in several processes. Yields them in their order.

    None instead of the passages of a document: the caller must cut it.
    """
    left, processes = iter(items), min(MOST_PROCESSES, cores())
    first = list(islice(left, FEW))
    if processes == 1 or len(first) < FEW:
        yield from ((one, None) for one in chain(first, left))
        return
    left = chain(first, left)
    waiting = deque[tuple[list[Item], Future[Sequence[CutDocument | None]]]]()
    with closing(Workers(processes)) as workers, ThreadPoolExecutor(processes, thread_name_prefix="cutting") as threads:
        try:
            while (batch := list(islice(left, BATCH))) or waiting:
                if batch:
                    waiting.append((batch, threads.submit(_cut_by, workers, [job(one) for one in batch])))
                if not batch or len(waiting) > 2 * processes:
                    some, found = waiting.popleft()
                    yield from zip(some, found.result(), strict=True)
        finally:
            threads.shutdown(cancel_futures=True)


def _cut_by(workers: Workers, jobs: Sequence[Job]) -> Sequence[CutDocument | None]:
    with suppress(EndedError, Unavailable):  # the machine has no room for another process
        return workers.call(cut_without_model, jobs, seconds=SECONDS)
    return [None] * len(jobs)


def cut_without_model(jobs: Sequence[Job]) -> list[CutDocument]:
    """Cut documents by the estimated number of their tokens."""
    return [cut(id, path, content, _estimated) for id, path, content in jobs]


def _estimated(texts: Sequence[str]) -> list[int]:
    return [estimated_tokens(text) for text in texts]
