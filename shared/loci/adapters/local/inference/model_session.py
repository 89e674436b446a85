"""Runs a model that is in memory."""

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loci.adapters.local.inference.native_calls import NATIVE_CALLS
from loci.adapters.local.inference.tokenizer import Encoded
from loci.core.background import cores
from loci.core.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Mask = npt.NDArray[np.int64]


class ModelSession:
    """An ONNX session. Several threads may run it at the same time, each with so many `threads` in it."""

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
            with NATIVE_CALLS.one():
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
        with NATIVE_CALLS.one():
            [output] = self._session.run([self._output], {name: inputs[name] for name in self._inputs})
        return output, mask


def give_memory_back() -> None:
    """Give freed memory back to the system: to load a model takes as much again as the model, and glibc keeps it."""
    with suppress(OSError, AttributeError):  # other C libraries do not have it
        ctypes.CDLL(None).malloc_trim(0)
