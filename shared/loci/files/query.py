"""A question to the files: as the reference's five fields, any of them, or one plain sentence."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

MOST_ENTITIES = 50
LONGEST = 2000
ENTITY = re.compile(r"[\"“]([^\"”]{2,80})[\"”]|\b(?:[A-Z][\w&.-]*(?:\s+(?:of|de|and)\s+)?(?:\s+[A-Z][\w&.-]*)*)")
CHINESE_NOISE = re.compile(
    r"为什么|什么|怎么样|怎么|如何|哪里|哪儿|哪个|哪些|多少|几个|是否|吗|呢|吧|的|了|是|在|有|和|与|或|及|请问|请"
)
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What is asked, sorted by what each part is good for."""

    words: str
    """For the words' leg."""
    boosted: tuple[str, ...]
    """Terms that weigh more: entities and boost keywords."""
    sense: str
    """For the vector leg."""

    @property
    def asked(self) -> str:
        """As an answer says it again."""
        return self.sense or self.words


def parsed(
    *,
    cleaned: str = "",
    entities: Sequence[str] = (),
    keywords: Sequence[str] = (),
    boosts: Sequence[str] = (),
    rewritten: str = "",
) -> ParsedQuery:
    """Sort the fields that are given, and derive those that are missing."""
    cleaned, rewritten = cleaned[:LONGEST].strip(), rewritten[:LONGEST].strip()
    plain = cleaned or rewritten or " ".join([*keywords, *entities, *boosts])[:LONGEST]
    if not entities and not boosts:
        entities = named_in(rewritten or cleaned)
    words = " ".join(dict.fromkeys([without_noise(plain), *keywords[:MOST_ENTITIES], *entities[:MOST_ENTITIES]]))
    boosted = tuple(dict.fromkeys([*entities[:MOST_ENTITIES], *boosts[:MOST_ENTITIES]]))
    return ParsedQuery(words.strip(), boosted, rewritten or plain)


def named_in(text: str) -> list[str]:
    """What looks like a name: in quotation marks, or capitalised inside a sentence."""
    found: list[str] = []
    for match in ENTITY.finditer(text[:LONGEST]):
        name = match[1] or (
            match[0] if match.start() and not text[: match.start()].rstrip().endswith((".", "?", "!")) else ""
        )
        if len(name) > 1:
            found.append(name.strip())
    return list(dict.fromkeys(found))[:MOST_ENTITIES]


def without_noise(text: str) -> str:
    """The text without Chinese words that only ask."""
    return CHINESE_NOISE.sub(" ", text) if HAN.search(text) else text
