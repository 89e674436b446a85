"""The sizes of the product's rooms beside their budgets, as `make check` prints them: python -m tests.support.rooms.

A change that needs more lines raises the number of its room in `pyproject.toml`, and its commit says what for.
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ROOT / "shared" / "loci"
SCRIPTS = ("*.js", "*.ts", "*.css")


def main() -> int:
    """Print each room; return 1 if one has more lines than its budget, or has none."""
    budgets: dict[str, int] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["loci"]["rooms"]
    lines = Counter(dict.fromkeys(budgets, 0))
    for room, path in _files():
        lines[room] += len(path.read_text("utf-8").splitlines())
    over = [room for room, count in lines.items() if count > budgets.get(room, 0)]
    for room, count in sorted(lines.items()):
        print(f"{room:<22} {count:>7,} of {budgets.get(room, 0):>7,}{'  OVER' if room in over else ''}")
    python = [room for room in lines if room != "scripts"]
    total, most = sum(lines[room] for room in python), sum(budgets.get(room, 0) for room in python)
    print(f"{'all Python':<22} {total:>7,} of {most:>7,}")
    return 1 if over else 0


def _files() -> Iterator[tuple[str, Path]]:
    """Each file of the product with its room. The adapters are rooms of their own."""
    for path in PRODUCT.rglob("*.py"):
        above = path.relative_to(PRODUCT).parts[:-1]
        yield "/".join(above[: 2 if above[:1] == ("adapters",) else 1]) or "top", path
    for pattern in SCRIPTS:
        yield from (("scripts", path) for path in PRODUCT.rglob(pattern) if "vendored" not in path.parts)


if __name__ == "__main__":
    sys.exit(main())
