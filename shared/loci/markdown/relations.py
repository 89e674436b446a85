"""The relation that a sentence gives to the link in it: "Superseded by [X]", "This amends [[Y]]"."""

import re
from collections.abc import Mapping
from typing import Final

from loci.markdown.nouns import Relation

LONGEST_BEFORE = 300
"""Characters before a link in which its relation is looked for."""
PHRASES: Final[Mapping[str, Relation]] = {
    "superseded by": "superseded_by",
    "replaced by": "superseded_by",
    "obsoleted by": "superseded_by",
    "deprecated by": "superseded_by",
    "deprecated in favor of": "superseded_by",
    "deprecated in favour of": "superseded_by",
    "amended by": "amended_by",
    "updated by": "amended_by",
    "supersedes": "supersedes",
    "replaces": "supersedes",
    "obsoletes": "supersedes",
    "amends": "amends",
    "updates": "amends",
    "depends on": "depends_on",
    "implements": "implements",
    "follows": "follows",
}
PHRASE = re.compile(r"\b(" + "|".join(PHRASES) + r")\b", re.IGNORECASE)
END_OF_SENTENCE = re.compile(r"[.!?;](?=\s)|\n\s*\n|\n\s*(?:[-*+]|\d{1,3}[.)]|#{1,6}|\|)\s")
WRITTEN_LINK = re.compile(r"!?\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])?")
# Between the phrase and the link: "Supersedes the sections of RFC [1] and [2]".
BETWEEN = re.compile(
    r"\W*the(?:\s+\w+){1,4}\s+(?:in|of|from)\W*(?:(?:rfc|adr)\W*)?"
    r"|(?:\W|\b(?:the|a|an|our|and|or|by|in|of|part|parts|both|sections?|document|note|decision|record|adr|rfc|no|\d+)\b)*+"
)
# Before it: nothing, a label such as "Status:", or a subject that is this document.
SUBJECT = re.compile(
    r"\W*(?:[^\W\d_][^:]{0,30}:\W*)?(?:(?:this|it|we|and|note|rfc|adr|decision|document|record|proposal|partially|partly"
    r"|later|now|also|was|is|has|been|updates|amends|supersedes|replaces|in|part|\d[\d.-]*)\b[\W_]*)*+"
)


def relation_before(text: str) -> Relation | None:
    """The relation of a link that stands after this text; None if the sentence says none about this document."""
    start = max(0, len(text) - LONGEST_BEFORE)
    sentence = END_OF_SENTENCE.split(text[start:])[-1].casefold()
    found = [*PHRASE.finditer(WRITTEN_LINK.sub("[]", sentence))]
    if not found:
        return None
    plain, last = found[-1].string, found[-1]
    before, between = plain[: last.start()], plain[last.end() :]
    is_about_this = SUBJECT.fullmatch(before.replace("[]", "§")) and BETWEEN.fullmatch(between)
    return PHRASES[last[1]] if is_about_this else None
