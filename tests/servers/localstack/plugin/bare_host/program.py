"""What a function's child process runs: its command, its folder, and the variables that its layers add."""

import fnmatch
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from localstack.services.lambda_.invocation.lambda_models import ArchiveCode, FunctionVersion, ImageCode

IMAGES = "BARE_HOST_IMAGES"
"""Names a JSON file that maps an image's URI (a pattern) to the folder and command that stand for it."""
PYTHON = "BARE_HOST_PYTHON"
"""Names the interpreter of Python functions. It has awslambdaric, and nothing that a layer ought to bring."""


@dataclass(frozen=True, slots=True)
class Program:
    command: Sequence[str]
    folder: Path
    variables: Mapping[str, str]


def program_of(version: FunctionVersion) -> Program:
    """The program of a function that was unpacked."""
    function = version.config
    layers = [layer.code for layer in function.layers if layer.code is not None]
    variables = _layered(layer.get_unzipped_code_location() for layer in layers)
    if function.image is not None:
        handler = (function.image_config and function.image_config.command) or []
        command, folder = _image(function.image)
        return Program([*command, *handler], folder, variables)
    assert function.code is not None, "only an image has none"
    folder = function.code.get_unzipped_code_location()
    if (function.runtime or "").startswith("python"):
        return Program([*_python(), str(function.handler)], folder, variables)
    return Program([str(folder / "bootstrap")], folder, variables)


def archives(version: FunctionVersion) -> list[ArchiveCode]:
    """What must be unpacked before the program can run. An image has no code of its own."""
    function = version.config
    return [code for code in (function.code, *(layer.code for layer in function.layers)) if code is not None]


def _layered(layers: Iterable[Path]) -> dict[str, str]:
    """As /opt does it on AWS: of two layers with the same module the later one wins, and the function before both.

    Each layer keeps a folder of its own here, so one Python package cannot be spread over two layers.
    """
    found = [layer / "python" for layer in layers]
    return {"PYTHONPATH": os.pathsep.join(str(folder) for folder in reversed(found))} if found else {}


def _image(image: ImageCode) -> tuple[list[str], Path]:
    rules = Path(os.environ.get(IMAGES, os.devnull))
    for pattern, rule in json.loads(rules.read_text("utf-8") or "{}").items():
        if fnmatch.fnmatchcase(image.image_uri, pattern):
            return rule.get("command") or _python(), (rules.parent / rule["folder"]).resolve()
    raise LookupError(f"no rule for the image {image.image_uri} in {rules}: see {IMAGES}")


def _python() -> list[str]:
    return [os.environ[PYTHON], "-m", "awslambdaric"]
