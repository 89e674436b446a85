"""Texts as a model reads them: numbers of pieces of words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Encoding

# No token stands for more, so what lies behind never reaches the model and need not be cut into tokens.
LONGEST_TOKEN = 100
PADDING = ("[PAD]", "<pad>")


@dataclass(frozen=True, slots=True)
class Encoded:
    """One input of a model."""

    ids: list[int]
    types: list[int]
    own: list[int]
    """Which of them the text itself has: neither those that mark its ends nor a prefix's."""


class Tokens:
    """A model's tokenizer. Threads may share it: nothing in it changes."""

    def __init__(self, file: str) -> None:
        from tokenizers import Tokenizer  # 0.1 s, which start-up does not pay

        self._tokenizer = Tokenizer.from_str(file)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        numbers = (self._tokenizer.token_to_id(name) for name in PADDING)
        self.padding = next((number for number in numbers if number is not None), 0)

    def count(self, texts: Sequence[str]) -> list[int]:
        found = self._tokenizer.encode_batch_fast([_readable(text) for text in texts], add_special_tokens=False)
        return [len(one.ids) for one in found]

    def encode(self, texts: Sequence[str], longest: int, prefix: str = "") -> list[Encoded]:
        """Each text behind the prefix, cut where the model stops reading."""
        room = longest - self._tokenizer.num_special_tokens_to_add(False)
        return [self._whole(one, len(prefix)) for one in self._cut([prefix + text for text in texts], room)]

    def encode_pairs(self, first: str, others: Sequence[str], longest: int, longest_first: int) -> list[Encoded]:
        """The first text together with each of the others, which get the room that it leaves."""
        [left] = self._cut([first], longest_first)
        room = longest - self._tokenizer.num_special_tokens_to_add(True) - len(left.ids)
        return [self._whole(left, 0, one) for one in self._cut(others, room)]

    def _cut(self, texts: Sequence[str], room: int) -> "list[Encoding]":
        short = [_readable(text[: room * LONGEST_TOKEN]) for text in texts]
        found = self._tokenizer.encode_batch(short, add_special_tokens=False)
        for one in found:
            one.truncate(room)
        return found

    def _whole(self, encoding: "Encoding", prefix: int, pair: "Encoding | None" = None) -> Encoded:
        whole = self._tokenizer.post_process(encoding, pair, add_special_tokens=True)
        own = [
            place
            for place, (special, (_, end)) in enumerate(zip(whole.special_tokens_mask, whole.offsets, strict=True))
            if not special and end > prefix
        ]
        return Encoded(whole.ids, whole.type_ids, own or list(range(len(whole.ids))))


def by_length(encoded: Sequence[Encoded], largest: int) -> list[list[int]]:
    """Their places in batches of inputs of about one length, each of at most so many tokens with its padding."""
    order = sorted(range(len(encoded)), key=lambda place: len(encoded[place].ids))
    batches: list[list[int]] = []
    for place in order:
        if batches and (len(batches[-1]) + 1) * len(encoded[place].ids) <= largest:
            batches[-1].append(place)
        else:
            batches.append([place])
    return batches


def _readable(text: str) -> str:
    """Half of a surrogate pair is no text to a tokenizer."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
