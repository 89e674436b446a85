"""Writes a vault that looks like the ones people have: 900 notes in eight languages, the same for the same seed.

Most notes have no title and no heading of level one. All of the text is made up.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.vault.words import LANGUAGES, SUB_HEADINGS, UNSPACED

RELEASES = 140
GUIDES = 120
LONG_NOTES = 8
LONG_BYTES = 57_000
ONE_LINE_BYTES = 9_000
BOM = b"\xef\xbb\xbf"
PNG = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Note:
    """A note of the vault, and the names that people look it up by."""

    path: str
    """Below the vault's folder."""
    title: str
    """The name that Loci must give it."""
    content: bytes
    aliases: tuple[str, ...] = field(default=())
    description: str = ""

    @property
    def stem(self) -> str:
        return Path(self.path).name.removesuffix(".md")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.stem, self.title, *self.aliases)))


def write_vault(folder: Path, seed: int = 1) -> list[Note]:
    """Write all notes, with attachments beside them."""
    notes = vault_notes(seed)
    for note in notes:
        file = folder / note.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(note.content)
    for number in range(20):
        name = folder / "attachments" / f"Pasted image {number:02}"
        name.parent.mkdir(exist_ok=True)
        name.with_suffix(".png").write_bytes(PNG + bytes(number))
        name.with_suffix(".pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    return notes


def vault_notes(seed: int = 1) -> list[Note]:
    """All notes, in the order in which they are written."""
    maker = _Maker(random.Random(seed))
    notes = [note for language in LANGUAGES for note in maker.help_notes(language)]
    notes += [*maker.releases(), *maker.guides()]
    return notes


class _Maker:
    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._names = {language: _topics(language) for language in LANGUAGES}

    def help_notes(self, language: str) -> Iterator[Note]:
        """Notes about one topic each. They mention each other by name."""
        folders = self._names[language][:6]
        for number, name in enumerate(self._names[language]):
            aliases = (f"{name} {number + 1}",) if number % 3 == 0 else ()
            said = self._sentence(language, 8) if number % 2 == 0 else ""
            matter = [
                *(["aliases:", *(f"  - {alias}" for alias in aliases)] if aliases else []),
                *([f"description: {said}"] if said else []),
                "cssclasses: [wide]",
                "publish: true",
                f"tags: [help, {language}]",
            ]
            head = "\n".join(["---", *matter, "---", ""]) if number % 5 else ""
            body = self._body(language, LONG_BYTES if number == 7 else 0)
            path = f"{language}/{folders[number % 6]}/{name}.md"
            shown = (aliases, said) if head else ((), "")
            yield Note(path, name, self._encoded(head + body, number), *shown)

    def releases(self) -> Iterator[Note]:
        """Release notes: only their names have a date or a version, and all begin with the same sub-heading."""
        for number in range(RELEASES):
            day = f"{2021 + number // 48}-{number % 12 + 1:02}-{number % 27 + 1:02}"
            name = f"v{number // 40}.{number // 8 % 5}.{number % 8}" if number % 2 else f"{day} Release {number}"
            parts = [f"## {SUB_HEADINGS[at]}\n\n{self._list('en')}" for at in range(3)]
            yield Note(f"releases/{name}.md", name, self._encoded("\n\n".join(parts) + "\n", number))

    def guides(self) -> Iterator[Note]:
        """Documentation: some with a title, some with a heading of level one, some in one long line."""
        english = self._names["en"]
        for number in range(GUIDES):
            name = f"guide-{number:03}-{english[number % len(english)].lower().replace(' ', '-')}"
            title = f"How to use the {english[-1 - number % len(english)]} in {number} steps"
            kind = number % 4
            if kind == 0:
                text = f"---\ntitle: {title}\n---\n\n## {SUB_HEADINGS[4]}\n\n{self._text('en', 900)}\n"
            elif kind == 1:
                text = f"# {title}\n\n{self._text('en', 700)}\n\n## {SUB_HEADINGS[5]}\n\n{self._list('en')}\n"
            elif kind == 2:
                text, title = self._text("en", ONE_LINE_BYTES), name
            else:
                text, title = f"## {SUB_HEADINGS[0]}\n\n{self._text('en', 900)}\n", name
            yield Note(f"docs/{name}.md", title, self._encoded(text, number))

    def _body(self, language: str, least: int) -> str:
        parts = [self._text(language, 300)] if self._random.random() < 0.5 else []
        for heading in self._random.sample(SUB_HEADINGS, 3):
            parts.append(f"## {heading}\n\n{self._text(language, 500)}\n\n{self._list(language)}")
        body = "\n\n".join(parts)
        while len(body) < least:
            body += f"\n\n### {self._sentence(language, 3)}\n\n{self._text(language, 2000)}"
        return body + "\n"

    def _list(self, language: str) -> str:
        names = self._random.sample(self._names[language], 4)
        return "\n".join(f"- [[{name}]]: {self._sentence(language, 9)}" for name in names)

    def _text(self, language: str, least: int) -> str:
        """Sentences. Every third names a topic."""
        said, length = list[str](), 0
        while length < least:
            sentence = self._sentence(language, self._random.randint(6, 14))
            if len(said) % 3 == 0:
                sentence = f"{self._random.choice(self._names[language])}: {sentence}"
            said.append(sentence)
            length += len(sentence) + 1
        return " ".join(said)

    def _sentence(self, language: str, length: int) -> str:
        words = self._random.choices(LANGUAGES[language][2].split(), k=length)
        return f"{_joined(language, words)}{'。' if language in UNSPACED else '.'}"

    def _encoded(self, text: str, number: int) -> bytes:
        """As editors write it: some with CRLF, some with a byte order mark."""
        if number % 11 == 3:
            text = text.replace("\n", "\r\n")
        return (BOM if number % 13 == 5 else b"") + text.encode()


def _topics(language: str) -> Sequence[str]:
    firsts, seconds, _ = LANGUAGES[language]
    return [_joined(language, [one, other]).capitalize() for one in firsts.split() for other in seconds.split()]


def _joined(language: str, words: Sequence[str]) -> str:
    return ("" if language in UNSPACED else " ").join(words)
