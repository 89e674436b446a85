"""Everything that Loci serves, as data: each vertical with its tools, instructions, prompts, resources and routes.

A text such as "files.tools.lake_tools:lake_tools" names what is loaded when it is needed: a cold start answers one
request. A tool that has no line here is not served.
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp

from loci.app import App
from loci.auth.gate import check_issuer, check_sign_in
from loci.core.lazy import Lazy
from loci.core.scopes import Area
from loci.documents.prompt_templates import PROMPTS
from loci.documents.resources import DOCUMENTS, TAGS
from loci.documents.resources import TEMPLATES as DOCUMENT_TEMPLATES
from loci.files.resources import FILES
from loci.files.resources import TEMPLATES as FILE_TEMPLATES
from loci.mcp.module import Module, ModuleRoute
from loci.mcp.resources import ModuleResources
from loci.mcp.skills import ModuleSkills, Skill
from loci.mcp.tool import CALL_TOOL, SURFACES, Surface
from loci.mcp.tool_catalog import ToolFamily, tool_family
from loci.mcp.views import VIEW

if TYPE_CHECKING:
    from loci.core.diagnosis import Finding
    from loci.core.identity import Owner

ABOUT_DOCUMENTS = """

Notes (markdown documents) hold what was learned, decided and solved:
- search_documents: your default for what was learned, how something was solved, related work, problems met before. \
Before technical work begins, search unasked: show the user what you found, and offer to review it.
- read_node_content: after a search, for the whole or a detail, to check that something is right, to copy a solution.
- explore_links: to follow a chain of thought, and to come upon related topics.
- find_gaps: now and then, for upkeep: missing connections, holes in the documentation, a better order.
Do not search where the user wants a fresh approach, in a wholly new domain, for a one-off of less than 5 minutes, or \
while the user experiments. It is yours to decide: weigh what is known against new thinking.
After a session of more than half an hour that solved a problem, suggest a debrief, and offer to help write it."""
ABOUT_FILES = """

Files are workbooks, PDFs and texts:
- get_memorylake_metadata: which there are. search_memory: what stands in them. read_memory: a page, cells or lines.
- query_table: sums, counts and rows, in SQL. run_memory_code: to compute on get_memory_path(id, name).
- verify_citation: before you cite a text or a figure."""
ABOUT_TOOLS = """

Tools that are not listed, Loci's own and those of other servers: pml_search_tools finds them; call them by `tool_id` \
or pml_call_tool."""

LISTED: Mapping[Surface, frozenset[str]] = {
    "all": frozenset(
        # The tools of the references.
        "search_documents read_node_content explore_links list_directory_structure find_gaps inject_tags"
        " scratchpad_read scratchpad_list get_memorylake_metadata search_memory fetch_memory create_memory_code_runner"
        " run_memory_code pml:search_tools pml:search_capabilities pml:execute_dag pml:execute_code pml:continue"
        " pml:abort pml:replan pml:approval_response"
        # Those of Loci's own without which an agent answers wrongly, or reaches no other.
        f" read_memory query_table verify_citation write_document {CALL_TOOL}".split()
    ),
    "core": frozenset(
        "search_documents read_node_content write_document search_memory read_memory query_table pml:search_tools"
        f" {CALL_TOOL}".split()
    ),
}
"""The tools that `/mcp` and `/mcp/core` list. Each of the others is found by `pml_search_tools` and called by name."""
AUTHORIZATION_PATHS = (
    "/authorize",
    "/token",
    "/register",
    "/revoke",
    "/.well-known/oauth-authorization-server{rest:path}",
    "/.well-known/openid-configuration{rest:path}",
)


def modules(app: App) -> Sequence[Module]:
    """List the verticals. A vertical that is not in this list is not served."""

    def tools(path: str, ids: str, on: Surface, area: Area | None, **more: Any) -> ToolFamily:
        """Tools that are loaded together, and the endpoint that offers them besides the one that offers all."""
        return tool_family(lambda: load(path)(app), *ids.split(), surfaces=[on], area=area, listed=LISTED, **more)

    def route(where: str, path: str) -> ModuleRoute:
        return ModuleRoute(where, lambda is_open: load(path)(app, is_open=is_open))

    def events(is_open: bool) -> ASGIApp:
        visitors = load("web.browser_auth:BrowserAuth")(app, is_open=is_open, clock=time.time)
        return load("events.route:EventsRoute")(app, visitors, is_open=is_open)

    @cache  # both routes have the same pages
    def pages(is_open: bool) -> ASGIApp:
        return load("web.routes:Pages")(app, is_open=is_open, clock=time.time)

    reading = "search_documents temporal_search query_by_tags read_node_content list_directory_structure"
    writing = "inject_tags write_document move_document delete_document undo_write"
    overview = "find_gaps cluster_documents suggest_reading"
    plans = "pml:execute_dag pml:continue pml:abort pml:replan pml:workflow_status"
    python = "create_memory_code_runner run_memory_code run_computation"
    either = {"one_of": ("documents:read", "files:read"), "everywhere": False}

    def skill(name: str, scope: str) -> ModuleSkills:
        return ModuleSkills(lambda _: [load("gateway.own_skills:written_skill")(name)], scope)

    def procedures(owner: "Owner") -> Sequence[Skill]:
        learned = load("gateway.own_skills:learned_skills")(app.tools.capabilities, owner)
        return [load("gateway.own_skills:written_skill")("procedures"), *learned]

    documents = Lazy(lambda: load("documents.resources:DocumentResources")(app.documents))
    files = Lazy(lambda: load("files.resources:FileResources")(app.files))
    return [
        Module(
            "scratchpad",
            tools=[
                tool_family(
                    lambda: load("scratchpad.tools:scratchpad_tools")(app.scratchpad),
                    "scratchpad_read",
                    "scratchpad_list",
                    listed=LISTED,
                ),
            ],
        ),
        Module(
            "documents",
            surfaces=["documents"],
            tools=[
                tools("documents.tools.search_tools:search_tools", reading, "documents", "documents"),
                tools(
                    "graph.link_tools:link_tools",
                    "explore_links graph_neighbors",
                    "documents",
                    "documents",
                ),
                tools("graph.overview_tools:overview_tools", overview, "documents", "documents"),
                tools("authoring.tools:writing_tools", writing, "documents", "documents"),
            ],
            instructions=ABOUT_DOCUMENTS,
            prompts=PROMPTS,
            resources=ModuleResources((DOCUMENTS, TAGS), DOCUMENT_TEMPLATES, documents, "documents:read"),
            skills=skill("documents", "documents:read"),
            routes=[route("/documents", "documents.http_route:DocumentsRoute")],
        ),
        Module(
            "files",
            surfaces=["files"],
            tools=[
                tools(
                    "files.tools.search_tools:search_tools",
                    "get_memorylake_metadata search_memory read_memory fetch_memory",
                    "files",
                    "files",
                ),
                tools(
                    "files.tools.lake_tools:lake_tools",
                    "add_memory ingestion_status delete_memory",
                    "files",
                    "files",
                ),
                tools("files.tools.version_tools:version_tools", "diff_versions verify_citation", "files", "files"),
            ],
            instructions=ABOUT_FILES,
            resources=ModuleResources((FILES,), FILE_TEMPLATES, files, "files:read"),
            skills=skill("files", "files:read"),
            routes=[route("/files/{token}", "files.http_route:UploadRoute")],
        ),
        Module(
            "code",
            tools=[
                tools("code.run_tools:python_tools", python, "files", "files", needs=["documents:read"]),
                tools("code.run_tools:file_tools", "query_table save_artifact", "files", "files"),
                tools("code.run_tools:typescript_tools", "pml:execute_code", "tools", "tools"),
            ],
            job=lambda job: app.code.do_job(job),
        ),
        Module(
            "tools",
            surfaces=["tools"],
            tools=[
                # A call needs what the called tool needs, and every client may look for the tools that it may call.
                tools("gateway.tools:tool_tools", f"pml:search_tools {CALL_TOOL}", "tools", None),
                tools(
                    "gateway.capability_tools:capability_tools",
                    "pml:search_capabilities pml:delete_capability",
                    "tools",
                    "tools",
                ),
            ],
            instructions=ABOUT_TOOLS,
            skills=ModuleSkills(procedures, "tools:read"),
            upstream=Lazy(lambda: load("gateway.tools:ServedTools")(app.tools, app.settings)),
        ),
        Module(
            "workflows",
            surfaces=["tools"],
            tools=[
                tools("workflows.tools:workflow_tools", plans, "tools", "workflows"),
                tools("workflows.tools:workflow_tools", "pml:approval_response", "tools", "approvals"),
            ],
            long_work=Lazy(lambda: load("workflows.tools:LongWorkflows")(app.workflows)),
        ),
        # Beside the answers of tools on every endpoint.
        Module(
            "views",
            surfaces=SURFACES,
            resources=ModuleResources((VIEW,), (), Lazy(lambda: load("web.page:ChatViews")(app)), None),
        ),
        # The two tools that ChatGPT's connectors and deep research ask for.
        Module(
            "lookup",
            surfaces=["search"],
            tools=[tools("lookup.tools:lookup_tools", "search fetch", "search", None, **either)],
        ),
        Module("recall", routes=[route("/hooks", "recall.http_route:HooksRoute")]),
        # Before the pages, which take everything below their path. The second path is for them: the cookie of a browser
        # that signed in is valid below `/ui`.
        Module("events", routes=[ModuleRoute(path, events) for path in ("/events", "/ui/events")]),
        Module("log", routes=[route("/log", "events.log_route:LogRoute")]),
        Module("transfer", routes=[route("/transfer", "transfer.http_route:TransferRoute")]),
        Module("web", routes=[ModuleRoute(path, pages) for path in ("/ui{rest:path}", "/")]),
        Module("oauth", routes=_authorization_routes(app)),
    ]


def _authorization_routes(app: App) -> list[ModuleRoute]:
    """The routes of the built-in authorization server, if the setting `oauth` wants them."""
    check_sign_in(app.settings)
    if app.settings.oauth != "built-in":
        return []
    check_issuer(app.settings)
    endpoints = Lazy(lambda: load("auth.oauth_routes:OAuthEndpoints")(app))
    return [ModuleRoute(path, lambda _: endpoints.get()) for path in AUTHORIZATION_PATHS]


def examination(app: App, owner: "Owner", whole: bool) -> "Iterable[Finding]":
    """The checks of `loci doctor` beside a server: all checks of this machine, or only the checks of one owner."""
    if whole:
        return load("doctor.examine:examine_server")(app)
    return load("doctor.examine:check_own")(app, owner)


def load(path: str) -> Callable[..., Any]:
    """Load what is behind a path such as "files.tools.lake_tools:lake_tools"."""
    module, _, name = path.partition(":")
    return getattr(import_module(f"loci.{module}"), name)
