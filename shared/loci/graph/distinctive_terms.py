"""The words that set groups of documents apart: first from their names, then from their texts."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from loci.core.identity import Owner
from loci.documents.document import Document
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.document_index import DocumentIndex
from loci.search.function_words import FUNCTION_WORDS, OTHER_FUNCTION_WORDS
from loci.search.ranking import Chunk
from loci.search.words import IS_CJK, index_words, word_positions

_WORDS: Final = (
    *FUNCTION_WORDS.values(),
    *OTHER_FUNCTION_WORDS,
    """now new previously already still yet ever never always often every another many much one two first last
    use used using make made get got see go put set let want need like way thing well please""",
    """的 了 是 在 和 也 就 都 而 及 与 或 一个 没有 我们 你们 他们 它们 你可 可以 因为 所以 但是 如果 然后 这个 那个 这些 那些 什么
    怎么 自己 之后 之前 以前 以后 其他 每次 每个 已经 还是 只是 重新 中的""",
    """これ それ あれ この その あの ここ そこ もの こと ため よう とき 前に 後に 場合 次の 中で 別の もう一度 たびに 何か""",
    """그리고 그러나 하지만 또는 이것 그것 저것 여기 거기 있는 있다 없는 없다 하는 합니다 됩니다 수 것 때 등 및""",
)
SAYS_NOTHING: Final = frozenset(stem for words in _WORDS for stem in index_words(words))
"""Words that say nothing about the subject of a text, in the languages in which most notes are written."""
MOST_STEMS: Final = 8
NAMES_WEIGHT: Final = 2.0
"""The weight of a word of a document's name: it says more than a word of the text."""
SAME_NEIGHBOUR: Final = 0.8
"""A character that stands beside a pair so often belongs to its word."""
LONGEST_CJK: Final = 8
FIRST_PASSAGES: Final = 20
"""The passages of a document that are searched for its terms."""
HIRAGANA: Final = frozenset(map(chr, range(0x3041, 0x30A0)))
"""Characters in which Japanese writes endings and particles, and seldom a subject."""


def telling_stems(
    groups: Sequence[Sequence[str]], titles: Mapping[str, str], terms: Mapping[str, Mapping[str, float]]
) -> list[tuple[str, ...]]:
    """The stems that each group has more than the others, best first."""
    weights = [_weighted(group, titles, terms) for group in groups]
    groups_with = Counter(stem for one in weights for stem in one)
    found: list[tuple[str, ...]] = []
    for one in weights:
        values = {stem: value * math.log(1 + len(groups) / groups_with[stem]) for stem, value in one.items()}
        best = sorted(values, key=lambda stem: (-round(values[stem], 6), stem))
        found.append(tuple(best[:MOST_STEMS]))
    return found


def first_passages(index: DocumentIndex, owner: Owner, documents: Iterable[Document]) -> dict[str, list[Chunk]]:
    """Read the first passages of these documents, all in one request to the index."""
    counts = {one.id: min(one.chunks, FIRST_PASSAGES) for one in documents}
    ids = [f"{id}#{at}" for id, count in counts.items() for at in range(count)]
    found = index.chunks(owner, COLLECTION, ids)
    return {id: [found[f"{id}#{at}"] for at in range(count) if f"{id}#{at}" in found] for id, count in counts.items()}


def written_words(stems: Sequence[str], passages: Iterable[Chunk], names: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the stems as these names and passages write them, each in its commonest form, each word once.

    Stems that none has are left out; the order stays. Pairs of CJK characters grow to the whole words.
    """
    read = list(passages)
    forms_of: dict[str, Counter[str]] = defaultdict(Counter)
    wanted = frozenset(stems)
    for text in (*names, *("\n".join([*passage.heading, passage.text]) for passage in read)):
        for stem, begin, end in word_positions(text, wanted):
            forms_of[stem][text[begin:end]] += 1
    texts = [*names, *(passage.text for passage in read)]
    forms = [_best_form(forms_of[stem]) for stem in stems if stem in forms_of]
    words = dict.fromkeys(_grown(form, texts) if IS_CJK.match(form) else form for form in forms)
    return tuple(
        word for word in words if not IS_CJK.match(word) or not any(word != other and word in other for other in words)
    )


def _best_form(forms: Counter[str]) -> str:
    """Prefer one word to several, and lower case if anybody writes it so; then the commonest form."""
    lower = Counter[str]()
    for form, times in forms.items():
        lower[form.lower()] += times
    best = min(lower, key=lambda form: (not form.isalnum(), -lower[form], form))
    return best if best in forms else max(sorted(forms), key=lambda form: (form.lower() == best, forms[form]))


def _weighted(
    group: Sequence[str], titles: Mapping[str, str], terms: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """The stems of a group with their weights: the greatest are of stems that several of its documents have."""
    sums, having, named = defaultdict[str, float](float), Counter[str](), Counter[str]()
    for id in group:
        named.update({stem for stem in index_words(titles.get(id, "")) if tells(stem)})
        for stem, value in terms.get(id, {}).items():
            if tells(stem):
                sums[stem] += value
                having[stem] += 1
    said = {stem: value * having[stem] for stem, value in sums.items()}
    most_said, most_named = max(said.values(), default=1.0), max(named.values(), default=1)
    # One document of many says nothing of the group.
    often = {stem: times for stem, times in named.items() if times > 1 or len(group) < 3}
    return {
        stem: said.get(stem, 0.0) / (most_said or 1.0) + NAMES_WEIGHT * often.get(stem, 0) / most_named
        for stem in said.keys() | often.keys()
    }


def tells(stem: str) -> bool:
    """False for function words, numbers, and names with numbers in them: versions, dates, `guide-022`."""
    of_version = any(part == "v" or part.removeprefix("v").isdigit() for part in stem.split("_"))
    return not of_version and stem not in SAYS_NOTHING and not HIRAGANA.issuperset(stem)


def _grown(word: str, texts: Sequence[str]) -> str:
    """The word with the characters that nearly always stand beside it."""
    while len(word) < LONGEST_CJK:
        before, after, times = Counter[str](), Counter[str](), 0
        for text in texts:
            at = text.find(word)
            while at >= 0:
                times += 1
                before[text[at - 1 : at]] += 1
                after[text[at + len(word) : at + len(word) + 1]] += 1
                at = text.find(word, at + 1)
        wider = [
            (count, found)
            for near, joined in ((before, "{1}{0}"), (after, "{0}{1}"))
            for char, count in near.most_common(1)
            if (found := joined.format(word, char)) != word and IS_CJK.match(char) and char not in HIRAGANA
        ]
        count, longer = max(wider, default=(0, word))
        if not times or count < SAME_NEIGHBOUR * times:
            break
        word = longer
    return word
