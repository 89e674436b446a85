"""Files, as the server offers them. Nothing here loads the vertical itself."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from loci.core.lazy import Lazy
from loci.files.resources import FILES, TEMPLATES, FileResources
from loci.mcp.module import Module, ModuleRoute
from loci.mcp.resources import ModuleResources, Resources
from loci.mcp.tool import LociTool
from loci.mcp.tool_catalog import ToolFamily, tool_family

if TYPE_CHECKING:
    from loci.core.finding import Finding
    from loci.files.host import FilesHost

INSTRUCTIONS = """

Files hold workbooks, PDFs and texts:
- get_memorylake_metadata: at the start: which files there are.
- search_memory: for what stands in files; each result has passages with page, cells or lines to cite.
- query_table: sums, counts and rows of a table, in SQL.
- verify_citation: before you cite a text or a number; diff_versions: what changed.
- create_memory_code_runner, then run_memory_code: to compute on a file, which is at get_memory_path(id, name). \
save_artifact keeps a file that code made."""


def files_module(app: "FilesHost") -> Module:
    """Everything of files but their commands."""

    def resources() -> Resources:
        return FileResources(app.files)

    def route(is_open: bool) -> ASGIApp:
        from loci.files.http_route import UploadRoute

        return UploadRoute(app, is_open=is_open)

    def checks(fix: bool) -> "Iterable[Finding]":
        from loci.files.checks import check_files

        return check_files(app, fix=fix)

    return Module(
        name="files",
        surfaces=frozenset({"files"}),
        tools=_tools(app),
        instructions=INSTRUCTIONS,
        resources=ModuleResources((FILES,), TEMPLATES, Lazy(resources), "files:read"),
        routes=[ModuleRoute("/files/{token}", route)],
        checks=checks,
    )


def _tools(app: "FilesHost") -> list[ToolFamily]:
    def search() -> list[LociTool]:
        from loci.files.tools.search_tools import search_tools

        return search_tools(app)

    def lake() -> list[LociTool]:
        from loci.files.tools.lake_tools import lake_tools

        return lake_tools(app)

    def versions() -> list[LociTool]:
        from loci.files.tools.version_tools import version_tools

        return version_tools(app)

    on = ("files",)
    return [
        tool_family(search, "get_memorylake_metadata", "search_memory", "fetch_memory", surfaces=on, area="files"),
        tool_family(lake, "add_memory", "ingestion_status", "delete_memory", surfaces=on, area="files"),
        tool_family(versions, "diff_versions", "verify_citation", surfaces=on, area="files"),
    ]
