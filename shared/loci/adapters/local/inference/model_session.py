"""A model in memory, ready to run."""

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loci.adapters.local.inference.tokens import Encoded
from loci.core.errors import Unavailable

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Mask = npt.NDArray[np.int64]


class ModelSession:
    """One ONNX session. Threads may run it at the same time."""

    def __init__(self, path: Path, padding: int) -> None:
        # First, and whole: onnxruntime loads its core without it, and a thread that then imports it gets half of it.
        import_module("numpy")
        # 0.1 s and 40 MB, which start-up does not pay; and they have no types.
        onnxruntime: Any = import_module("onnxruntime")
        failures = vars(import_module("onnxruntime.capi.onnxruntime_pybind11_state")).values()

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = _processors()
        options.inter_op_num_threads = 1
        options.log_severity_level = 3  # warnings are about graphs that we did not make
        # Both keep what the longest batch so far has taken, for each shape: memory would only grow.
        options.enable_cpu_mem_arena = False
        options.enable_mem_pattern = False
        # Waiting threads would take the processors from those who answer requests.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
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
        """What the model makes of the batch, padded to its longest, and which tokens are real."""
        import numpy as np

        longest = max(len(one.ids) for one in batch)
        ids = np.full((len(batch), longest), self._padding, np.int64)
        types, mask = np.zeros_like(ids), np.zeros_like(ids)
        for row, one in enumerate(batch):
            ids[row, : len(one.ids)] = one.ids
            types[row, : len(one.ids)] = one.types
            mask[row, : len(one.ids)] = 1
        fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        [output] = self._session.run([self._output], {name: fed[name] for name in self._inputs})
        return output, mask


def _processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
