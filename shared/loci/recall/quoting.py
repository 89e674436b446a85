"""Texts that go before a model unasked: whose they may be, and how they are quoted."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from loci.core.injections import injections
from loci.core.secrets_in_text import without_secrets
from loci.core.seen import UNSEEN, skeleton_of
from loci.documents.document import Document
from loci.documents.foreign import OWN, TAKEN_FROM, foreign_of
from loci.search.inference import tokens_at_most

SOURCES: Final = TAKEN_FROM | {"sources", "url", "link"}
"""Fields of a front matter that say where a text was taken from, as clippers of web pages write them."""
SESSIONS: Final = "sessions/"
BREAKS: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "`": "\\u0060"})
"""With these a text could end a fence of the client, or begin a tag that the client knows."""
VERBS: Final = "ignore disregard forget override bypass skip"
BETWEEN: Final = "all any every the your my our of these those previous prior above earlier former preceding system and"
NOUNS: Final = "instruction prompt rule guideline directive command"
OTHERS: Final = (
    *("you are now", "from now on you", "system prompt", "developer message", "new instructions", "jailbreak"),
    *("attention assistant", "attention model", "attention agent", "attention ai agents", "note to the assistant"),
    *("dear assistant", "dear ai", "do not tell the user", "do not inform the user", "dont tell the user"),
    *("without telling the user", "without asking the user", "as an ai", "your real task", "act as the"),
)


def _either(words: Iterable[str]) -> str:
    return "|".join(map(skeleton_of, words))


ADDRESSING: Final = re.compile(
    f"(?:{_either(VERBS.split())})(?:{_either(BETWEEN.split())}){{0,8}}(?:{_either(NOUNS.split())})|{_either(OTHERS)}"
)
"""Sentences to a model, in texts as they look at a glance."""
MARKUP: Final = re.compile(
    r"<!--|-->|<\|[a-z_]{1,30}\|?>?|\[/?INST\]|(?im:^\W{0,4}(?:system|assistant|user|human|developer)\W{0,4}:)"
    r"|(?i:</?\s*(?:system|assistant|user|human|tool|function|invoke|instructions?|antml|script|style|iframe))"
    r"|(?i:display\s{0,4}:\s{0,4}none|visibility\s{0,4}:\s{0,4}hidden|font-size\s{0,4}:\s{0,4}0|opacity\s{0,4}:\s{0,4}0)"
    r"|(?i:color\s{0,4}:\s{0,4}(?:white|#fff))|(?i:!\[[^\]\n]{0,200}\]\(\s*https?:)"
)
"""Marks of a conversation, and of texts that people do not see; pictures, whose addresses tell what was read."""


def is_own(document: Document) -> bool:
    """True if the owner alone is behind the text: it is a file of theirs, they sent it as a whole, or a tool wrote it
    for a session that had read nothing of others.

    What a program of others wrote, or a front matter calls taken from elsewhere, does not count.
    """
    is_file = document.root is not None or (document.uploaded_sha256 or "") == document.sha256
    is_known = document.trust == "own" if document.written_by_tool else is_file
    fields = [one.partition("=")[::2] for one in document.properties]
    is_taken = any(name in SOURCES and "://" in value for name, value in fields)
    if not is_known or is_taken or foreign_of(document):
        return False
    trusts = {value for name, value in fields if name == "trust"}
    return trusts <= OWN and (bool(trusts) or f"/{SESSIONS}" not in f"/{document.path}")


def fit_to_quote(text: str) -> str | None:
    """The text in tidy lines, without secrets; None if it addresses the model, or hides something."""
    lines = (" ".join(line.split()) for line in text.removeprefix("\ufeff").splitlines())
    tidy = "\n".join(line for line in lines if line)
    if (
        UNSEEN.search(tidy.replace("\n", " "))
        or MARKUP.search(tidy)
        or ADDRESSING.search(skeleton_of(tidy))
        or injections(tidy)
    ):
        return None
    return without_secrets(tidy)


def quoted_lines(heading: str, quotes: Sequence[Mapping[str, str]], tokens: int) -> str:
    """The heading and each quote as one line of JSON, which its text cannot end; as many as the tokens have room for.

    Empty without a quote.
    """
    lines = [heading]
    for one in quotes:
        fit = {name: fit_to_quote(value) for name, value in one.items() if value}
        if None in fit.values():
            continue
        line = json.dumps(fit, ensure_ascii=False).translate(BREAKS)
        if tokens_at_most("\n".join([*lines, line])) <= tokens:
            lines.append(line)
    return "\n".join(lines) if len(lines) > 1 else ""
