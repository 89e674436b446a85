"""The images of a synthesised stage, as the CDK's command line builds them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Image:
    """An image: the function that it is for, its source in the manifest, and the folder that Docker is given."""

    name: str
    source: dict[str, Any]
    context: Path

    @property
    def dockerfile(self) -> str:
        """The text of its Dockerfile, in the context."""
        return (self.context / self.source["dockerFile"]).read_text("utf-8")


def images(assembly: Path) -> dict[str, Image]:
    """All images of the stage, by the folder of their function."""
    found: dict[str, Image] = {}
    for manifest in sorted(assembly.glob("*.assets.json")):
        for asset in json.loads(manifest.read_text("utf-8")).get("dockerImages", {}).values():
            source = asset["source"]
            name = Path(source["dockerFile"]).parent.name
            found[name] = Image(name, source, assembly / source["directory"])
    return found
