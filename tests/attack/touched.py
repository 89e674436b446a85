"""Prints the attacks on what the last commits touched, for `.ci/run`; all, in a checkout without these commits."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COMMITS = 20
ALL = ("",)
DOORS = ("oauth", "test_*.py")
ATTACKS = {
    "shared/loci/code/": ("sandbox", "test_ending.py", "test_stalls.py", "test_waiting.py"),
    "shared/loci/core/": DOORS,
    "shared/loci/documents/": ("test_feed.py", "test_odd_notes.py", "test_swapped_links.py"),
    "shared/loci/events/": ("test_crowds.py",),
    "shared/loci/files/": ("test_files_of_others.py", "test_swapped_links.py"),
    "shared/loci/mcp/": DOORS,
    "shared/loci/recall/": ("test_hooks.py",),
    "shared/loci/sandbox/": ("sandbox", "test_ending.py", "test_stalls.py"),
    "shared/loci/gateway/": ("test_moving_in.py", "test_servers_moved_in.py"),
    "shared/loci/transfer/": ("test_*archives*.py", "test_large_runs.py", "test_*mov*.py", "test_odd_notes.py"),
    "shared/loci/web/": ("oauth", "test_approve_links.py", "test_forged_requests.py", "test_generated_*", "test_ui.py"),
    "shared/loci/workflows/": ("test_approve_links.py", "test_large_runs.py", "test_waiting.py"),
    "functions/run_": ("sandbox",),
    "shared/loci/adapters/": ALL,
    "shared/loci/runtimes/": ALL,
}
"""The attacks, as patterns in this folder, by the beginning of what they attack."""


def touched() -> list[str] | None:
    """The files that the last commits changed; None if this checkout does not have these commits."""
    asked = ["git", "diff", "--name-only", f"HEAD~{COMMITS}", "HEAD"]
    told = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.split() if told.returncode == 0 else None


def attacks(files: list[str] | None) -> Iterator[Path]:
    """The modules and folders with attacks on these files, and the attacks among them."""
    if files is None:
        yield HERE
        return
    patterns = {one for file in files for begin, found in ATTACKS.items() if file.startswith(begin) for one in found}
    for pattern in patterns:
        yield from HERE.glob(pattern) if pattern else [HERE]
    for file in files:
        path = ROOT / file
        if path.name.startswith("test_") and path.is_relative_to(HERE) and path.exists():
            yield path


if __name__ == "__main__":
    found = {path.relative_to(ROOT).as_posix() for path in attacks(touched())}
    sys.stdout.write("\n".join(sorted(found)))
