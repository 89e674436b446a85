"""Runs a program of this folder in an interpreter without Loci: `python -I start.py wall.layers …`."""

import importlib
import sys
from types import ModuleType


def start(program: str, arguments: list[str]) -> None:
    """Run it. Of Loci only this folder and what reads files can be imported, under the names that they have there."""
    here = __file__.rpartition("/")[0] or "."
    readers = f"{here}/../files/extract"
    for name, path in (("loci", []), ("loci.sandbox", [here]), ("loci.files", []), ("loci.files.extract", [readers])):
        package = ModuleType(name)
        package.__path__ = path
        sys.modules[name] = package
    importlib.import_module(f"loci.sandbox.{program}").main(arguments)


if __name__ == "__main__":
    start(sys.argv[1], sys.argv[2:])
