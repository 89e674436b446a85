"""What Docker takes of a folder that it builds an image from: it applies `.dockerignore`, and the last match wins."""

import posixpath
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

EVERYTHING_BELOW = "**"
ESCAPED = ".+()|{}$"
TASK_ROOT = "/var/task"
"""Where Lambda's base images work, and where they look for the handler."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A line of `.dockerignore`, as `moby/patternmatcher` compiles it."""

    brings_back: bool
    regex: re.Pattern[str]

    def fits(self, path: str) -> bool:
        """True if it names the path, or a folder that the path is in."""
        parts = path.split("/")
        return any(self.regex.fullmatch("/".join(parts[: end + 1])) for end in range(len(parts)))


@dataclass(frozen=True, slots=True)
class Copied:
    """A `COPY`: its sources, its target, and whether it copies out of the context or out of another stage."""

    sources: tuple[str, ...]
    target: str
    of_context: bool


def patterns(text: str) -> list[Pattern]:
    """The patterns, in order. A comment begins in the first column."""
    found: list[Pattern] = []
    for line in text.removeprefix("\ufeff").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        pattern = line.strip()
        brings_back = pattern.startswith("!")
        cleaned = posixpath.normpath(pattern.removeprefix("!").strip()).lstrip("/")
        found.append(Pattern(brings_back, re.compile(_as_regex(cleaned), re.DOTALL)))
    return found


def ignored(path: str, by: list[Pattern]) -> bool:
    """True if Docker leaves the path out."""
    out = False
    for pattern in by:
        if pattern.brings_back == out and pattern.fits(path):
            out = not pattern.brings_back
    return out


def sent(context: Path) -> Iterator[str]:
    """The files that Docker takes of the folder."""
    ignore = context / ".dockerignore"
    by = patterns(ignore.read_text("utf-8")) if ignore.is_file() else []
    for file in sorted(context.rglob("*")):
        path = str(file.relative_to(context))
        if not file.is_dir() and not ignored(path, by):
            yield path


def copies(dockerfile: str) -> list[Copied]:
    """What a Dockerfile copies, in order."""
    lines = dockerfile.replace("\\\n", " ").splitlines()
    found = [line.split()[1:] for line in lines if re.match(r"(COPY|ADD)\s", line)]
    return [
        Copied(
            tuple(word for word in words[:-1] if not word.startswith("--")),
            words[-1],
            not any(word.startswith("--from=") for word in words),
        )
        for words in found
    ]


def laid_out(context: Path, dockerfile: str, root: Path) -> None:
    """Do all copies of a Dockerfile below `root`, which stands for the root of all of its stages."""
    visible = list(sent(context))
    for one in copies(dockerfile):
        target = root / posixpath.join(TASK_ROOT, one.target.replace("${LAMBDA_TASK_ROOT}", TASK_ROOT)).lstrip("/")
        is_folder = one.target.endswith(("/", ".")) or len(one.sources) > 1
        for source in one.sources:
            if not one.of_context:
                if (root / source.lstrip("/")).is_dir():  # nothing was run, so a stage has only what was copied
                    shutil.copytree(root / source.lstrip("/"), target, dirs_exist_ok=True)
                continue
            below = [path for path in visible if path == source or path.startswith(f"{source}/")]
            assert below, f"COPY {source}: Docker does not find it"
            for path in below:
                inside = posixpath.relpath(path, source) if path != source else ""
                to = target / (inside or (posixpath.basename(path) if is_folder else ""))
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(context / path, to)


def _as_regex(pattern: str) -> str:
    regex, at = "", 0
    while at < len(pattern):
        if pattern.startswith(EVERYTHING_BELOW, at):
            at += 2 + pattern.startswith("/", at + 2)
            regex += ".*" if at >= len(pattern) else "(.*/)?"
            continue
        one = pattern[at]
        regex += {"*": "[^/]*", "?": "[^/]"}.get(one) or (f"\\{one}" if one in ESCAPED else one)
        at += 1
    return regex
