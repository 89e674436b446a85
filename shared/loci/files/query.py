"""A question to the files: as the reference's five fields, any of them, or one plain sentence."""

import re
from collections.abc import Sequence

from loci.search.question import Asked

MOST_TERMS = 50
LONGEST = 2000
ENTITY = re.compile(r"[\"“]([^\"”]{2,80})[\"”]|\b(?:[A-Z][\w&.-]*(?:\s+(?:of|de|and)\s+)?(?:\s+[A-Z][\w&.-]*)*)")
CHINESE_NOISE = re.compile(
    r"为什么|为何|什么|怎么样|怎么|怎样|如何|哪里|哪儿|哪个|哪些|哪|多少|几个|是否|吗|呢|吧|的|了|是|在|有|和|与|或|及|请问|请"
)
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]+")


def parsed(
    *,
    cleaned: str = "",
    entities: Sequence[str] = (),
    keywords: Sequence[str] = (),
    boosts: Sequence[str] = (),
    rewritten: str = "",
) -> Asked:
    """The question of those fields that are given; those that are missing are derived."""
    cleaned, rewritten = cleaned[:LONGEST].strip(), rewritten[:LONGEST].strip()
    entities, keywords, boosts = (_terms(one) for one in (entities, keywords, boosts))
    plain = cleaned or rewritten or " ".join([*keywords, *entities, *boosts])[:LONGEST]
    words = " ".join(without_noise(one) for one in (plain, *keywords))
    return Asked.sorted_out(rewritten or plain, words, [*(entities or named_in(plain)), *boosts])


def named_in(text: str) -> list[str]:
    """The names in a sentence, as far as they can be told: in quotation marks, or capitalised inside it."""
    found: list[str] = []
    for match in ENTITY.finditer(text):
        name = match[1] or (
            match[0] if match.start() and not text[: match.start()].rstrip().endswith((".", "?", "!")) else ""
        )
        if len(name) > 1:
            found.append(name.strip())
    return list(dict.fromkeys(found))[:MOST_TERMS]


def without_noise(text: str) -> str:
    """The text without Chinese words that only ask or join, unless they are a part of a word: 和 in 和平."""
    return HAN.sub(lambda run: _without_noise(run[0]), text)


def _without_noise(run: str) -> str:
    noise = [match.span() for match in CHINESE_NOISE.finditer(run)]
    begins, ends = [0, *(end for _, end in noise)], [*(begin for begin, _ in noise), len(run)]
    # A single character is the rest of a word: it stays with those beside it.
    return " ".join(
        run[max(0, begin - 1) : end + 1] if end == begin + 1 else run[begin:end]
        for begin, end in zip(begins, ends, strict=True)
    )


def _terms(given: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(one[:LONGEST].strip() for one in given[:MOST_TERMS] if one.strip()))
