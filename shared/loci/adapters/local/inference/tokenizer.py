"""Turns texts into tokens, as a model reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loci.adapters.local.inference.native_calls import NATIVE_CALLS

if TYPE_CHECKING:
    from tokenizers import Encoding

# No token has more characters. Text beyond that many never reaches the model, so it is not tokenized.
LONGEST_TOKEN = 100
PADDING = ("[PAD]", "<pad>")


@dataclass(frozen=True, slots=True)
class Encoded:
    """One input of a model."""

    ids: list[int]
    types: list[int]
    own: list[int]
    """The positions of the text's own tokens: not those of its ends, nor of a prefix."""
    spans: list[tuple[int, int]]
    """For each of those, the part of the text that it stands for: from and to which character."""


class ModelTokenizer:
    """A model's tokenizer. Threads may share it, because it never changes."""

    def __init__(self, file: str) -> None:
        from tokenizers import Tokenizer  # takes 0.1 s, so not at start-up

        self._tokenizer = Tokenizer.from_str(file)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        numbers = (self._tokenizer.token_to_id(name) for name in PADDING)
        self.padding = next((number for number in numbers if number is not None), 0)

    def count(self, texts: Sequence[str]) -> list[int]:
        with NATIVE_CALLS.one():
            found = self._tokenizer.encode_batch_fast([_readable(text) for text in texts], add_special_tokens=False)
        return [len(one.ids) for one in found]

    def encode(self, texts: Sequence[str], longest: int, prefix: str = "") -> list[Encoded]:
        """Each text after the prefix, cut where the model stops reading."""
        room = longest - self._tokenizer.num_special_tokens_to_add(False)
        return [self._whole(one, len(prefix)) for one in self._cut([prefix + text for text in texts], room)]

    def encode_pairs(self, first: str, others: Sequence[str], longest: int, longest_first: int) -> list[Encoded]:
        """The first text with each of the others. They are cut to the room that the first leaves."""
        [left] = self._cut([first], longest_first)
        room = longest - self._tokenizer.num_special_tokens_to_add(True) - len(left.ids)
        return [self._whole(left, 0, one) for one in self._cut(others, room)]

    def _cut(self, texts: Sequence[str], room: int) -> "list[Encoding]":
        short = [_readable(text[: room * LONGEST_TOKEN]) for text in texts]
        with NATIVE_CALLS.one():
            found = self._tokenizer.encode_batch(short, add_special_tokens=False)
        for one in found:
            one.truncate(room)
        return found

    def _whole(self, encoding: "Encoding", prefix: int, pair: "Encoding | None" = None) -> Encoded:
        whole = self._tokenizer.post_process(encoding, pair, add_special_tokens=True)
        own = [
            at
            for at, (special, (_, end)) in enumerate(zip(whole.special_tokens_mask, whole.offsets, strict=True))
            if not special and end > prefix
        ]
        own = own or list(range(len(whole.ids)))
        spans = [(max(0, start - prefix), max(0, end - prefix)) for start, end in (whole.offsets[at] for at in own)]
        return Encoded(whole.ids, whole.type_ids, own, spans)


def by_length(encoded: Sequence[Encoded], largest: int) -> list[list[int]]:
    """The positions of the inputs, in batches of similar length; each of at most `largest` tokens with its padding."""
    order = sorted(range(len(encoded)), key=lambda at: len(encoded[at].ids))
    batches: list[list[int]] = []
    for at in order:
        if batches and (len(batches[-1]) + 1) * len(encoded[at].ids) <= largest:
            batches[-1].append(at)
        else:
            batches.append([at])
    return batches


def _readable(text: str) -> str:
    """The text without halves of surrogate pairs, which a tokenizer cannot read."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
