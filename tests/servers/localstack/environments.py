"""The two Python environments that LocalStack needs."""

from dataclasses import dataclass
from pathlib import Path

from layers.interpreter import find
from tests.servers.errors import NotInstalled
from tests.support.environments import made

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "servers"
LOCKS = ROOT / "requirements"
PLUGIN = Path(__file__).with_name("plugin")
MISSING = (
    "it needs Python 3.13, and none that starts was found. "
    "Install it (`.venv/bin/uv python install 3.13`, or your system's python3.13)"
)


@dataclass(frozen=True, slots=True)
class Environments:
    """The interpreters of LocalStack and of the functions, which know nothing of each other's packages."""

    localstack: Path
    functions: Path


def environments() -> Environments:
    """Both, made where they are missing or another lock's."""
    base = find()
    if base is None:
        raise NotInstalled(MISSING)
    return Environments(
        localstack=made(BUILD / "localstack", base, LOCKS / "localstack.lock", PLUGIN),
        functions=made(BUILD / "lambda-runtime", base, LOCKS / "lambda-runtime.lock"),
    )
