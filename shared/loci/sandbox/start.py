"""Runs a program of this folder with an interpreter that has no Loci: `python -I start.py wall.probe …`."""

import importlib
import sys
from types import ModuleType


def start(program: str, arguments: list[str]) -> None:
    """Only this folder can be imported, by the names that it has in Loci."""
    here = __file__.rpartition("/")[0] or "."
    for name, path in (("loci", []), ("loci.sandbox", [here])):
        package = ModuleType(name)
        package.__path__ = path
        sys.modules[name] = package
    importlib.import_module(f"loci.sandbox.{program}").main(arguments)


if __name__ == "__main__":
    start(sys.argv[1], sys.argv[2:])
