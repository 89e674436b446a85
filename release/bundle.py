"""Pack the bundle that MCP clients install with a click, an MCPB: `python -m release.bundle WHEEL FOLDER`.

The bundle has the wheel, and the versions of the lock. The client that opens it starts it by uv, which gets the rest.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from infra.node import NODE
from tests.support import npm_packages

ROOT = Path(__file__).parents[1]
PACKAGES = ROOT / "tests" / "conformance"
"""Where the lock of npm pins the tool that packs."""
MCPB = PACKAGES / "node_modules" / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"
START = """import sys

from loci.__main__ import main

sys.argv[1:] = ["serve", "--stdio"]
main()
"""
PINNED = re.compile(r"^[\w.-]+==[^\\\n]+", re.MULTILINE)


def stage(wheel: Path, folder: Path) -> None:
    """Write into an empty folder what the bundle has."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (folder / "manifest.json").write_text(json.dumps(_manifest(project), indent=2) + "\n", "utf-8")
    (folder / "pyproject.toml").write_text(_requirements(project, wheel.name), "utf-8")
    (folder / "server.py").write_text(START, "utf-8")
    shutil.copy(wheel, folder)
    shutil.copy(ROOT / "LICENSE", folder)


def mcpb(*arguments: str | Path) -> str:
    """Run the bundles' own tool, and return what it says."""
    npm_packages.install(PACKAGES)
    return subprocess.run(  # noqa: S603
        [NODE, MCPB, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout


def _manifest(project: dict[str, Any]) -> dict[str, Any]:
    urls = project["urls"]
    return {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": "Loci",
        "version": project["version"],
        "description": project["description"],
        "author": {"name": "Loci", "url": urls["Source"]},
        "repository": {"type": "git", "url": urls["Source"]},
        "documentation": urls["Documentation"],
        "support": urls["Issues"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {"command": "uv", "args": ["run", "--directory", "${__dirname}", "server.py"]},
        },
        "tools_generated": True,
        "prompts_generated": True,
        "keywords": project["keywords"],
        "license": project["license"],
        "compatibility": {"platforms": ["darwin", "linux"], "runtimes": {"python": project["requires-python"]}},
    }


def _requirements(project: dict[str, Any], wheel: str) -> str:
    """A project for uv: strings and lists of them in JSON are TOML, too."""
    pins = [pin.strip() for pin in PINNED.findall((ROOT / "requirements" / "laptop.lock").read_text("utf-8"))]
    return f"""[project]
name = "loci-bundle"
version = {json.dumps(project["version"])}
requires-python = {json.dumps(project["requires-python"])}
dependencies = [{json.dumps(project["name"] + "[sandbox]")}]

[tool.uv]
package = false
constraint-dependencies = {json.dumps(pins, indent=4)}

[tool.uv.sources]
{project["name"]} = {{ path = {json.dumps(wheel)} }}
"""


def main() -> None:
    """Pack the bundle of a wheel into a folder."""
    wheel, into = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as staged:
        stage(wheel, Path(staged))
        print(mcpb("pack", staged, into / f"{wheel.name.partition('-py3')[0]}.mcpb"))


if __name__ == "__main__":
    main()
