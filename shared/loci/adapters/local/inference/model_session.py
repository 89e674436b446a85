"""Runs a model that is in memory."""

import atexit
import ctypes
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from loci.core.background import cores
from loci.core.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Mask = npt.NDArray[np.int64]
    from tokenizers import Encoding

# No token has more characters. Text beyond that many never reaches the model, so it is not tokenized.
LONGEST_TOKEN = 100
PADDING = ("[PAD]", "<pad>")


@dataclass(frozen=True, slots=True)
class Encoded:
    """An input of a model."""

    ids: list[int]
    types: list[int]
    own: list[int]
    """The positions of the text's own tokens, without its ends and a prefix."""
    spans: list[tuple[int, int]]
    """The part of the text that each of its own tokens stands for: its first character and its end."""


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
        with NATIVE_CALLS.running():
            found = self._tokenizer.encode_batch_fast([_readable(text) for text in texts], add_special_tokens=False)
        return [len(one.ids) for one in found]

    def encode(self, texts: Sequence[str], longest: int, prefix: str = "") -> list[Encoded]:
        """Encode each text after the prefix, cut where the model stops reading."""
        room = longest - self._tokenizer.num_special_tokens_to_add(False)
        return [self._whole(one, len(prefix)) for one in self._cut([prefix + text for text in texts], room)]

    def encode_pairs(self, first: str, others: Sequence[str], longest: int, longest_first: int) -> list[Encoded]:
        """The first text with each of the others. They are cut to the room that the first leaves."""
        [left] = self._cut([first], longest_first)
        room = longest - self._tokenizer.num_special_tokens_to_add(True) - len(left.ids)
        return [self._whole(left, 0, one) for one in self._cut(others, room)]

    def _cut(self, texts: Sequence[str], room: int) -> "list[Encoding]":
        short = [_readable(text[: room * LONGEST_TOKEN]) for text in texts]
        with NATIVE_CALLS.running():
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


LONGEST_END: Final = 30.0
"""Seconds that a process waits at its end for such calls."""


class NativeCalls:
    """The calls of native code that run now."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._number = 0
        self._has_ended = False

    @contextmanager
    def running(self) -> Generator[None]:
        """Make a call, unless the process is ending."""
        with self._turn:
            if self._has_ended:
                raise Unavailable("Loci is ending", "Start it again, then try again")
            self._number += 1
        try:
            yield
        finally:
            with self._turn:
                self._number -= 1
                self._turn.notify_all()

    def end(self) -> None:
        """Let no call begin any more, and wait for the running ones."""
        with self._turn:
            self._has_ended = True
            self._turn.wait_for(lambda: self._number == 0, LONGEST_END)


NATIVE_CALLS = NativeCalls()
atexit.register(NATIVE_CALLS.end)


class ModelSession:
    """An ONNX session. Several threads may run it at the same time, each with a number of `threads` in it."""

    def __init__(self, path: Path, padding: int, threads: int | None = None) -> None:
        # Import numpy first and completely: onnxruntime loads only its core, and another thread that imports numpy then
        # gets half of it.
        import_module("numpy")
        # Takes 0.1 s and 40 MB, so not at start-up. The package has no types.
        onnxruntime: Any = import_module("onnxruntime")
        failures = vars(import_module("onnxruntime.capi.onnxruntime_pybind11_state")).values()

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or cores()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only: the warnings are about other people's graphs
        # Both keep the memory of the longest batch so far, for each shape: memory would only grow.
        options.enable_cpu_mem_arena = False
        options.enable_mem_pattern = False
        # Spinning threads would take the processors away from the threads that answer requests.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            with NATIVE_CALLS.running():
                self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except tuple(one for one in failures if isinstance(one, type) and issubclass(one, Exception)) as error:
            raise Unavailable(
                f"The model {path.parent.name} cannot be loaded ({str(error).splitlines()[0]})",
                "Pull another one: loci models list shows them",
                code="MODEL_DAMAGED",
            ) from error
        self._padding = padding
        self._inputs = [one.name for one in self._session.get_inputs()]
        outputs = [one.name for one in self._session.get_outputs()]
        self._output = "last_hidden_state" if "last_hidden_state" in outputs else outputs[0]

    def run(self, batch: Sequence[Encoded]) -> "tuple[Floats, Mask]":
        """The model's output for the batch, padded to its longest input, and a mask of the real tokens."""
        import numpy as np

        longest = max(len(one.ids) for one in batch)
        ids = np.full((len(batch), longest), self._padding, np.int64)
        types, mask = np.zeros_like(ids), np.zeros_like(ids)
        for row, one in enumerate(batch):
            ids[row, : len(one.ids)] = one.ids
            types[row, : len(one.ids)] = one.types
            mask[row, : len(one.ids)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        with NATIVE_CALLS.running():
            [output] = self._session.run([self._output], {name: inputs[name] for name in self._inputs})
        return output, mask


def give_memory_back() -> None:
    """Give freed memory back to the system: to load a model takes as much again as the model, and glibc keeps it."""
    with suppress(OSError, AttributeError):  # other C libraries do not have it
        ctypes.CDLL(None).malloc_trim(0)
