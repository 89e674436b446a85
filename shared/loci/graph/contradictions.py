"""Pairs of documents that say different values of the same thing: exact, with both lines, without a model."""

import posixpath
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from loci.documents.document import Document, is_session
from loci.documents.link_table import without_suffix
from loci.documents.validity import lacks_validity
from loci.graph import statements
from loci.graph.distinctive_terms import tells
from loci.graph.graph import Graph
from loci.graph.loose_ends import LooseEnd, supersessions
from loci.graph.statements import Statement, are_opposed, statements_in, statements_of
from loci.markdown.nouns import INDEX_FILES, INVERSE
from loci.search.ranking import Chunk
from loci.search.words import index_words

MOST_STATEMENTS: Final = 300
"""Statements of a document that are compared."""
MOST_DOCUMENTS: Final = 4
"""Documents that say the same about a thing: what more of them say is a form that each fills in."""
SHOWN: Final = 160
"""Characters of a line that an answer quotes."""
RARE: Final = 3
"""Statements are compared if they share two of their rarest words."""
LEAST_ALIKE: Final = 0.7
NEARLY: Final = 0.9
LEAST_SHARED: Final = 3
"""Rare words that two documents share: in the statement, or in title and headings."""
SERIES: Final = re.compile(
    r"(?:^|[\W_])(?:change-?log|release[ _-]?notes?|releases|changes|history|journal|diary|minutes|meetings?|news|logs?"
    r"|stand-?ups?|retros?|retrospectives?|sprints?|archives?|blog|posts?|dailies|daily|weekly|examples?|templates?)$"
    r"|^(?:meeting|minutes|stand-?up|retro|sprint|template|example|week|day)\b"
    r"|\d\.\d|(?<!\d)(?:19|20)\d\d[-_.]?\d\d",
    re.IGNORECASE,
)
"""Names of documents and folders that each tell of their own time, or of no time."""
KINDS: Final = frozenset(
    index_words(
        "readme index overview guide handbook manual policy policies runbook service notes note reference docs"
        " documentation setup plan spec specification design faq page config configuration settings operations how-to"
    )
)
"""Words for kinds of documents, which tell no two subjects apart."""
STATUS: Final = re.compile(
    r"^[ >*_#-]*+status[ *_:]*+\n?+[ >*_-]*+(?:superseded|replaced|deprecated|rejected|retired|obsolete|draft|proposed"
    r"|withdrawn)",
    re.IGNORECASE | re.MULTILINE,
)
"""The status of a document in its text."""


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two documents with different values of the same thing."""

    one: Document
    other: Document
    says: Statement
    other_says: Statement

    @property
    def loose_end(self) -> LooseEnd:
        """The pair as something to mend."""
        mine, its = self.says, self.other_says
        reason = (
            f"{mine.written} or {its.written}? Line {mine.line} says {_quoted(mine.quote)}, and line {its.line} of"
            f" {self.other.path} says {_quoted(its.quote)}. Correct one, or let the newer one supersede the other."
        )
        return LooseEnd("contradiction", self.one, reason, self.other)


@dataclass(frozen=True, slots=True)
class _Said:
    document: int
    statement: Statement
    around: frozenset[str]
    """The words of the title and the headings."""
    subject: frozenset[str]
    """The words of the title that tell what the document is about."""

    @property
    def thing(self) -> object:
        """The thing that gets the value, in that document."""
        return self.document, self.statement.kind, self.statement.unit, self.statement.words


def find_contradictions(graph: Graph, passages: Iterable[Chunk], day: str) -> list[Contradiction]:
    """Return the pairs among the documents that hold on that day; each pair once, with its surest statement.

    Left out are documents that tell of their own time, and pairs of which one says that it changes the other.
    """
    older = {old for _, old in supersessions(graph)}
    related = {
        frozenset((link.source, link.target))
        for links in graph.outgoing.values()
        for link in links
        if link.relation in INVERSE
    }
    documents = (one for id, one in graph.documents.items() if id not in older and _is_current(one, day))
    order = sorted(documents, key=lambda one: one.path)
    said = _said(order, passages)
    counts = Counter[str]()
    having = defaultdict[int, set[str]](set)
    for one in said:
        having[one.document] |= one.statement.words | one.around
    for words in having.values():
        counts.update(words)
    most = max(MOST_DOCUMENTS, len(order) // 50)
    found: dict[tuple[int, int], tuple[int, Contradiction]] = {}
    for one, other in _candidates(said, counts):
        pair = one.document, other.document
        if frozenset((order[pair[0]].id, order[pair[1]].id)) in related:
            continue
        shared = {
            word
            for word in (one.statement.words | one.around) & (other.statement.words | other.around)
            if counts[word] <= most and tells(word)
        }
        sureness = len(shared) + (one.subject == other.subject)
        if sureness >= LEAST_SHARED and (pair not in found or found[pair][0] < sureness):
            claim = Contradiction(order[pair[0]], order[pair[1]], one.statement, other.statement)
            found[pair] = sureness, claim
    return [found[pair][1] for pair in sorted(found)]


def _is_current(document: Document, day: str) -> bool:
    lacks = lacks_validity(document, day)
    holds = lacks is None or lacks.startswith("stale")
    names = without_suffix(document.path).split("/")
    is_of_a_day = document.date_from == "name" or any(map(SERIES.search, (*names, document.title)))
    return holds and not is_of_a_day and not is_session(document.properties)


def _subject(document: Document) -> frozenset[str]:
    """The words of its title, and of its folder if it stands for that, without those for kinds of documents."""
    stem, _ = posixpath.splitext(posixpath.basename(document.path))
    folder = posixpath.basename(posixpath.dirname(document.path)) if stem.lower() in INDEX_FILES else ""
    return frozenset(one for one in index_words(f"{document.title} {folder}") if tells(one)) - KINDS


def _said(order: Sequence[Document], passages: Iterable[Chunk]) -> list[_Said]:
    """The statements of all documents, without those of documents whose text says that they do not hold.

    What a document says several times with other values is a series, and is left out.
    """
    number, subjects = {one.id: at for at, one in enumerate(order)}, [_subject(one) for one in order]
    found, counts, over = list[_Said](), Counter[int](), set[int]()
    for at, document in enumerate(order):
        around = frozenset(index_words(document.title))
        found += [_Said(at, one, around, subjects[at]) for one in statements_of(document.properties)]
    for passage in passages:
        at = number.get(passage.document)
        if at is None or counts[at] >= MOST_STATEMENTS:
            continue
        if STATUS.search("\n".join((*passage.heading[-1:], passage.text.replace("\n\n", "\n")))):
            over.add(at)
        around = frozenset(index_words(" ".join((passage.title, *passage.heading))))
        heading = passage.heading[-1] if passage.heading else ""
        here = statements_in(passage.text, passage.first_line, heading)
        said = [_Said(at, one, around, subjects[at]) for one in here]
        found += said
        counts[at] += len(said)
    values = defaultdict[object, set[str]](set)
    for one in found:
        values[one.thing].add(one.statement.value)
    return [one for one in found if one.document not in over and len(values[one.thing]) == 1]


def _candidates(said: Sequence[_Said], counts: Mapping[str, int]) -> Iterator[tuple[_Said, _Said]]:
    """Yield the pairs of opposed statements with nearly the same words, about things that few documents mention."""
    by_words = defaultdict[tuple[str, ...], list[_Said]](list)
    for one in said:
        statement = one.statement
        rarest = sorted(statement.words, key=lambda word: (counts[word], word))[:RARE]
        keys = combinations(sorted(rarest), 2) if len(rarest) > 1 else [(rarest[0],)]
        for key in keys:
            by_words[(statement.kind, statement.unit, *key)].append(one)
    for group in by_words.values():
        if len({one.document for one in group}) > MOST_DOCUMENTS:
            continue
        for one, other in combinations(group, 2):
            if one.document != other.document and _is_same_thing(one, other):
                first, second = sorted((one, other), key=lambda it: it.document)
                if are_opposed(first.statement.kind, first.statement.value, second.statement.value):
                    yield first, second


def _quoted(line: str) -> str:
    return f"“{line}”" if len(line) <= SHOWN else f"“{line[:SHOWN]}…”"


def _is_same_thing(one: _Said, other: _Said) -> bool:
    mine, its = one.statement.words, other.statement.words
    if len(mine & its) < LEAST_ALIKE * len(mine | its):
        return False
    match min(one.statement.reach, other.statement.reach):
        case statements.ANYWHERE:
            return True
        case statements.ONE_SUBJECT:
            return one.subject <= other.subject or other.subject <= one.subject
        case _:
            is_nearly_same = len(mine & its) >= NEARLY * len(mine | its)
            return is_nearly_same and len(mine) >= LEAST_SHARED and bool(one.subject) and one.subject == other.subject
