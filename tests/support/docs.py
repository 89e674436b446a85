"""The pages of the documentation that are made from the program. Renew them: python -m tests.support.docs."""

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from pydantic.fields import FieldInfo
from typer.testing import CliRunner

from loci.cli.main import cli
from loci.core.settings import PREFIX, AwsSettings, Settings
from tests.support.docs_parts import PARTS, renewed

DOCS = Path(__file__).parents[2] / "docs"
SITE = DOCS / "zensical.toml"
TOOLS = DOCS.parent / "tests" / "surface" / "tools.json"
COMMANDS = (
    *("", "serve", "ingest", "add", "watch", "reindex", "search", "graph", "forget", "doctor", "call"),
    *("approve", "pin", "connect", "events", "log", "hook", "export", "import"),
    *("files", "files list", "files show", "files search", "files read", "files forget"),
    *("tools", "tools add", "tools import", "tools list", "tools test", "tools log", "tools remove"),
    *("tools secret", "tools login", "tools logout"),
    *("tools capabilities", "tools capabilities list", "tools capabilities show", "tools capabilities remove"),
    *("skills", "skills export"),
    *("models", "models list", "models pull", "models check"),
    *("keys", "keys create", "keys list", "keys revoke"),
    *("clients", "clients list", "clients revoke"),
    *("owners", "owners list", "owners delete", "share"),
    *("runner", "runner install"),
    *("service", "service install", "service uninstall", "service status"),
)

CONFIGURATION = """\
# Configuration

Loci looks for a setting on the command line, then in the environment, then in `config.toml` in the data folder (or in
the file that `--config` or `LOCI_CONFIG` names), and else uses the default. Write a list as an array in the file, and
separated by commas in the environment.

"""
DEPLOYED = """
The templates set these of a deployment on AWS. In `cdk.json` a stage names secrets with those that end in `_from`.

"""
FOLDERS = {"data": "the user's data folder: `~/.local/share/loci` on Linux", "models": "the user's cache folder"}
FOLDERS["runner"] = "`runner` in the environment that Loci is installed in"


def configuration() -> str:
    """Return the page on settings."""
    chosen = {name: field for name, field in Settings.model_fields.items() if name != "aws"}
    return CONFIGURATION + _table(chosen) + DEPLOYED + _table(AwsSettings.model_fields)


def _table(fields: Mapping[str, FieldInfo]) -> str:
    rows = [
        (f"`{name}`", f"`{PREFIX}{name.upper()}`", FOLDERS.get(name) or _shown(field.default), field.description)
        for name, field in fields.items()
    ]
    head = "| in `config.toml` | in the environment | default | meaning |\n|---|---|---|---|\n"
    return head + "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)


def command_line() -> str:
    """Return the page on commands."""
    parts = [f"\n## loci {name}".rstrip() + f"\n\n```text\n{_help(name)}```\n" for name in COMMANDS]
    return "# Command line\n\nThis is what `--help` prints for each command.\n" + "".join(parts)


def _help(command: str) -> str:
    """As on a terminal of 80 columns, of which two stay free."""
    ended = CliRunner().invoke(cli, [*command.split(), "--help"], prog_name="loci", terminal_width=78)
    assert ended.exit_code == 0, ended.output
    return ended.output


def _shown(default: object) -> str:
    match default:
        case None | ():
            return "none"
        case str() | int() | float():
            return f"`{default}`"
        case _:
            return f"`{', '.join(cast('tuple[str, ...]', default))}`"


def blocks_of(page: str, language: str) -> list[str]:
    """The examples of a page in that language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def lines_of(page: str, begin: str) -> list[str]:
    """The lines for a terminal on a page that begin so."""
    lines = (line.removeprefix("$ ") for block in blocks_of(page, "console") for line in block.splitlines())
    return [line for line in lines if line.startswith(begin)]


TOOL_GROUPS = {
    "Documents": "search_documents temporal_search query_by_tags read_node_content list_directory_structure"
    " explore_links graph_neighbors find_gaps cluster_documents suggest_reading write_document inject_tags"
    " move_document delete_document undo_write",
    "Files": "search_memory read_memory fetch_memory query_table get_memorylake_metadata add_memory ingestion_status"
    " diff_versions verify_citation delete_memory",
    "Code": "create_memory_code_runner run_memory_code save_artifact run_computation pml_execute_code",
    "Tools of other servers": "pml_search_tools pml_call_tool pml_search_capabilities pml_delete_capability",
    "Workflows": "pml_execute_dag pml_workflow_status pml_approval_response pml_continue pml_replan pml_abort",
    "Large results": "scratchpad_read scratchpad_list",
}
TOOL_LIST = """\
# Tools

This is what a client sees of each tool. Arguments in bold are needed. `/mcp` lists the tools that agents need
most, and finds the others by `pml_search_tools`: see [endpoints](connect.md#endpoints).
"""


def tool_list() -> str:
    """Return the page on Loci's own tools."""
    tools = {one["name"]: one for one in json.loads(TOOLS.read_text("utf-8"))}
    parts = [
        f"\n## {group}\n" + "".join(_tool(tools.pop(one)) for one in names.split())
        for group, names in TOOL_GROUPS.items()
    ]
    assert not tools, f"In no group: {', '.join(tools)}"
    return TOOL_LIST + "".join(parts)


def _tool(tool: Mapping[str, Any]) -> str:
    schema = tool["inputSchema"]
    rows = [_argument(name, one, name in schema.get("required", ())) for name, one in schema["properties"].items()]
    table = "\n| argument | meaning |\n|---|---|\n" + "".join(rows) if rows else ""
    return f"\n### {tool['name']}\n\n{tool['description'].strip()}\n{table}"


def _argument(name: str, schema: Mapping[str, Any], needed: bool) -> str:
    said = schema.get("description") or next(
        (one["description"] for one in schema.get("anyOf", ()) if "description" in one), ""
    )
    choices = ", ".join(f"`{one}`" for one in schema.get("enum", ()))
    default = f"default `{json.dumps(schema['default'])}`" if schema.get("default") is not None else ""
    told = "; ".join(one for one in (said, choices, default) if one).replace("|", "\\|")
    return f"| {'**' if needed else ''}`{name}`{'**' if needed else ''} | {told} |\n"


def llms() -> str:
    """Return the pages of the site as a list for language models (llmstxt.org)."""
    project = tomllib.loads(SITE.read_text("utf-8"))["project"]
    lines = [f"# {project['site_name']}", "", f"> {project['site_description']}", ""]
    for part in project["nav"]:
        [(kind, pages)] = part.items()
        lines += [f"## {kind}", "", *(_line(path, project["site_url"]) for path in _paths(pages)), ""]
    return "\n".join(lines)


def _paths(pages: Iterable[str | Mapping[str, str]]) -> list[str]:
    return [one if isinstance(one, str) else next(iter(one.values())) for one in pages]


def _line(path: str, url: str) -> str:
    text = MADE[path]() if path in MADE else (DOCS / path).read_text("utf-8")
    title, _, rest = text.removeprefix("# ").partition("\n")
    first = next(one for one in rest.split("\n\n") if re.match(r"\s*[A-Z`*](?!``)", one))
    said = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
    sentence = re.split(r"[.:]( |$)", said)[0]
    return f"- [{title}]({url}{path.removesuffix('.md').removesuffix('index')}): {sentence}"


MADE = {"configuration.md": configuration, "command-line.md": command_line, "tool-list.md": tool_list}
PAGES = {**MADE, "llms.txt": llms}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), "utf-8")
    for name in PARTS:
        (DOCS / name).write_text(renewed(DOCS / name), "utf-8")
