"""Notes with links of every form, and the document that each link means."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parents[1] / "corpus" / "links.txt"
BEGIN, ANSWER = "==== ", " => "


@dataclass(frozen=True, order=True, slots=True)
class Answer:
    """The meaning of a link."""

    relation: str
    target: str
    """The path of a document; `open` where it is not here."""


@dataclass(frozen=True, slots=True)
class Note:
    path: str
    lines: Sequence[str]
    answers: dict[int, list[Answer]]
    """By line, from 1 on; 0: of what nobody wrote."""


def link_corpus() -> list[Note]:
    notes: list[Note] = []
    for line in FILE.read_text("utf-8").split("\n"):
        text, _, said = line.partition(ANSWER)
        if text.startswith(BEGIN):
            notes.append(Note(text.removeprefix(BEGIN), [], {0: _answers(said)}))
        elif notes:
            note = notes[-1]
            assert isinstance(note.lines, list)
            note.lines.append(text)
            note.answers[len(note.lines)] = _answers(said)
    return notes


def lay_out(notes: Sequence[Note], folder: Path) -> None:
    """As files below the folder."""
    for note in notes:
        file = folder / note.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(note.lines), "utf-8")


def _answers(said: str) -> list[Answer]:
    found: list[Answer] = []
    for one in filter(None, said.split(", ")):
        relation, colon, target = one.strip().rpartition(": ")
        if target != "nothing":
            found.append(Answer(relation if colon else "references", target))
    return sorted(found)
