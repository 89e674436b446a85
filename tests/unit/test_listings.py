"""The files by which people find Loci say what is true: the registry's entry, and the plugin of Claude Code."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema

from loci.compose import build_app
from loci.core.settings import load_settings
from loci.mcp.module import tool_families
from loci.mcp.tool import wire_name

RARE = {"fetch_memory", "pml_delete_capability"}
"""Tools whose own descriptions are enough."""
ROOT = Path(__file__).parents[2]
SKILL = ROOT / "plugin" / "skills" / "loci" / "SKILL.md"


def read(path: str) -> dict[str, Any]:
    return json.loads((ROOT / path).read_text("utf-8"))


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_registrys_entry_names_this_package_and_version() -> None:
    entry, here = read("server.json"), project()
    [package] = entry["packages"]
    assert (package["registryType"], package["identifier"]) == ("pypi", here["name"])
    assert {entry["version"], package["version"], read("plugin/.claude-plugin/plugin.json")["version"]} == {
        here["version"]
    }


def test_the_registry_would_take_the_entry() -> None:
    """It takes what fits its schema, and a package whose README names the entry."""
    entry, schema = read("server.json"), read("release/vendored/server.schema.json")
    assert entry["$schema"] == schema["$id"]
    jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker()).validate(entry)  # pyright: ignore[reportUnknownMemberType]
    assert entry["repository"]["url"] == project()["urls"]["Source"]
    assert f"<!-- mcp-name: {entry['name']} -->" in (ROOT / "README.md").read_text("utf-8")


def test_the_registrys_entry_starts_a_command_that_there_is() -> None:
    """Clients of the registry put the package behind the runtime's arguments; `uvx` starts the script of its name.

    tests/layers/test_wheel.py starts it, and speaks with it.
    """
    [package] = read("server.json")["packages"]
    arguments = [one.get("value") or one["name"] for one in package["packageArguments"]]
    runtime = package.get("runtimeArguments", [])
    line = [package["runtimeHint"], *runtime, f"{package['identifier']}=={package['version']}", *arguments]
    assert line == ["uvx", f"{project()['name']}=={project()['version']}", "serve", "--stdio"]
    scripts = project()["scripts"]
    assert scripts[package["identifier"]] == scripts["loci"]


def test_the_marketplace_leads_to_the_plugin() -> None:
    [plugin] = read(".claude-plugin/marketplace.json")["plugins"]
    folder = ROOT / plugin["source"]
    assert json.loads((folder / ".claude-plugin" / "plugin.json").read_text("utf-8"))["name"] == plugin["name"]
    assert (folder / ".mcp.json").is_file()


def test_the_skill_names_every_tool_and_no_other(tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path}))
    there = {wire_name(id) for family in tool_families(app) if family.is_on("all") for id in family.ids}
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", SKILL.read_text("utf-8"))) - {"workflow_id"}
    assert (named - there, there - named - RARE) == (
        set(),
        set(),
    )


def test_the_skill_begins_as_skills_do() -> None:
    """A name of its folder, and a description of up to 1,024 characters that says when to use it."""
    found = re.match(r"---\nname: (.+)\ndescription: (Use when .+)\n---\n", SKILL.read_text("utf-8"))
    assert found
    assert found[1] == SKILL.parent.name
    assert len(found[2]) <= 1024
