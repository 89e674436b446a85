"""The handlers of `functions/`, as they start where they are deployed."""

import importlib.util
from pathlib import Path
from types import ModuleType

FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"


def loaded(function: Path) -> ModuleType:
    """A function's module, freshly executed."""
    spec = importlib.util.spec_from_file_location(f"{function.name}_handler", FUNCTIONS / function / "handler.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
