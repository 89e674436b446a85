"""Pages: one HTML document each, with its style, its program and its content. They load nothing."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from mcp_types import Resource, TextResourceContents

from loci.core.errors import NotFound
from loci.core.identity import Owner
from loci.core.json import JsonObject, encodable
from loci.core.version import version
from loci.mcp.views import VIEW, VIEW_TYPE, VIEWS

if TYPE_CHECKING:
    from loci.app import App
    from loci.web.browser_auth import Visit

FIELD: Final = "form"
"""The field of a form that has the token against forged requests."""
PLACES: Final = {
    "home": "Home",
    "search": "Search",
    "graph": "Graph",
    "files": "Files",
    "runs": "Runs",
    "tools": "Tools",
    "settings": "Settings",
}
"""The name of each page in its address, and the name that people read."""
USUAL: Final = "home"
"""The page to which `/ui` leads."""


SHARED: Final = ("dom", "ask", "formats", "shell")
"""The programs that every page of the shell begins with."""
STYLES: Final = ("base.css", "bar.css", "content.css", "detail.css")
OWN: Final = "'self'"
VIEW_SHARED: Final = ("dom", "formats", "views/host")
"""The programs of all views; their own comes behind them, and then the one that begins."""
VIEW_MORE: Final = {"graph": ("drawn",), "results": ("written",)}
"""Further programs of a view."""
VIEW_STYLES: Final = ("base.css", "content.css", "views/view.css")
UNSENT = re.compile(r"^ *(?://.*\n)?", re.MULTILINE)
PLACE = re.compile(r"\{\{(\w+)\}\}")
# JSON allows these escapes. Unescaped, the characters could end the element, or be an entity or a line end.
ESCAPED = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}
SIGN_IN: Final = ("base.css", "sign_in.css")
ISSUER: Final = "issuer"
"""The address, beside the other pages, that leads to the issuer."""


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """HTML, and the security policy for it."""

    html: str
    policy: str
    status: int


@dataclass(frozen=True, slots=True)
class PageKind:
    """A page of the shell. Its folder in `static` has `page.html`, `page.css` and its programs."""

    name: str
    """Of the folder."""
    programs: tuple[str, ...]
    """Of the folder, or with a slash in front, of `static`; in their order."""
    place: str = ""
    """Of the navigation, if that has another name."""


def shell_page(
    kind: PageKind,
    visit: "Visit | None",
    facts: JsonObject,
    *,
    title: str = "",
    count: str = "",
    depth: int = 0,
    connects: Sequence[str] = (OWN,),
) -> HtmlPage:
    """The page with these facts, for its program. It asks these origins. Without a visit it is a file.

    `count`: what stands before the title of the window. `depth`: how many folders its address is below `/ui`.
    """
    place = kind.place or kind.name
    heading = title or PLACES[place]
    return filled(
        "shell.html",
        {
            "bar": _bar(place, visit, "../" * depth) if visit else "",
            "form": html.escape(visit.form()) if visit else "",
            "root": "../" * depth,
            "heading": html.escape(f"{count}{encodable(heading)} - Loci" if visit else encodable(heading)),
            "data": embedded(facts),
        },
        body=f"{kind.name}/page.html",
        title=heading,
        styles=[*STYLES, f"{kind.name}/page.css"],
        programs=[*SHARED, *(one[1:] if one.startswith("/") else f"{kind.name}/{one}" for one in kind.programs)],
        connects=connects,
    )


def filled(
    template: str,
    parts: Mapping[str, str],
    *,
    title: str,
    styles: Sequence[str],
    body: str | None = None,
    programs: Sequence[str] = (),
    connects: Sequence[str] = (),
    leads: Sequence[str] = (),
    status: int = 200,
) -> HtmlPage:
    """Fill a template. Only its own styles and programs take effect, and it asks these origins only.

    `body`: the template of the page's own part. `leads`: sources to which a form's answer may send the browser on.
    """
    css = "".join(map(_static, styles))
    script = _program(programs) if programs else ""
    policy = "; ".join(
        [
            "default-src 'none'",
            *([f"script-src {_hash(script)}"] if script else []),
            f"style-src {_hash(css)}",
            "img-src data:",
            *(
                [f"connect-src {' '.join(connects)}", f"form-action {' '.join([OWN, *leads])}"]
                if connects
                else ["form-action 'none'"]
            ),
            "base-uri 'none'",
        ]
    )
    places = {"policy": policy, "title": html.escape(encodable(title)), "style": css, "script": script, **parts}
    whole = _static(template)
    if body is not None:
        whole = whole.replace("{{body}}", _static(body))
    # In one go: what is put in is never looked through for places.
    return HtmlPage(PLACE.sub(lambda found: places[found[1]], whole), policy, status)


def embedded(value: JsonObject) -> str:
    """The value as JSON for a script element. No text in it can end the element."""
    return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).translate(ESCAPED)


def _bar(current: str, visit: "Visit", root: str) -> str:
    """The navigation, and the way out for a visitor who signed in."""

    def link(name: str, title: str) -> str:
        here = ' aria-current="page"' if name == current else ""
        more = _waits(visit.waiting) if name == "runs" else ""
        return f'<a href="{root}{name}"{here}>{html.escape(title)}{more}</a>'

    links = "".join(link(name, title) for name, title in PLACES.items())
    out = (
        f'<form id="out" method="post" action="{root}sign-out">'
        f'<input type="hidden" name="{FIELD}" value="{html.escape(visit.form())}"><button>Sign out</button></form>'
        if visit.signed_in
        else ""
    )
    return (
        '<header id="bar"><a id="skip" href="#content">Skip to the content</a>'
        f'<a id="mark" href="{root}{USUAL}" aria-label="Loci, to the start">Loci</a>'
        f'<nav id="places" aria-label="Pages">{links}</nav>{out}</header>'
    )


def _waits(number: int) -> str:
    """The number of open questions, which the program of a live page keeps."""
    hidden = "" if number else " hidden"
    return f' <span id="waits"{hidden}><span>{number}</span><span class="unseen"> waiting for you</span></span>'


def _program(names: Sequence[str], before: str = "") -> str:
    """The programs as one, without indents and comments on lines of their own: these are for who reads the files."""
    whole = "".join(UNSENT.sub("", _static(f"{name}.js")) for name in names)
    return f"(async () => {{\n'use strict';\n{before}{whole}}})();\n"


@cache
def _static(name: str) -> str:
    return (files("loci.web") / "static" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def sign_in_page(to: str, problem: str, issuer: str | None, status: int) -> HtmlPage:
    """The form. It says what was wrong the last time, and leads to the page that the visitor came for."""
    said = f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""
    to = quote(to, safe="/?=")
    places = {"problem": said, "to": html.escape(to), "issuer": _leads_to(issuer, to) if issuer else ""}
    return filled(
        "words.html",
        places,
        body="sign_in.html",
        title="Sign in to Loci",
        styles=SIGN_IN,
        programs=["sign_in"],
        connects=[OWN],
        status=status,
    )


def onward_page(where: str) -> HtmlPage:
    """A page that leads to another page of Loci: a browser that comes from another site shows no cookie there."""
    to = html.escape(where)
    return told_page(f'<meta http-equiv="refresh" content="0; url={to}"><p><a href="{to}">Go on</a></p>')


def told_page(told: str, leads: Sequence[str] = ()) -> HtmlPage:
    """A page of a few words, whose form may lead to these sources."""
    places = {"body": told}
    return filled("words.html", places, title="Connect", styles=SIGN_IN, connects=[OWN], leads=leads)


def _leads_to(issuer: str, to: str) -> str:
    where = html.escape(urlsplit(issuer).netloc)
    return f'<p><a class="button" href="{ISSUER}?to={html.escape(to)}">Sign in at {where}</a></p>'


class ChatViews:
    """Pages that a chat shows beside the answer of a tool (MCP Apps), and that lead to the other pages.

    A view stands on the same connection as the model, so no view decides anything: a person answers on Loci's page.
    """

    def __init__(self, app: "App") -> None:
        self._pages = f"{app.settings.base_url}/ui/"

    def newest(self, owner: Owner) -> list[Resource]:  # noqa: ARG002 (the port)
        """No resources: the tools name their views, and nobody chooses one from a list."""
        return []

    def content(self, owner: Owner, uri: str) -> TextResourceContents:  # noqa: ARG002 (the same for all)
        """The page of a view."""
        name = uri.removeprefix(VIEW)
        if name not in VIEWS:
            raise NotFound(f"Loci has no view {name[:80]!r}", f"The views are {', '.join(sorted(VIEWS))}")
        facts = embedded({"pages": self._pages, "version": version()})
        programs = _program(
            [*VIEW_SHARED, *VIEW_MORE.get(name, ()), f"views/{name}", "views/begin"], before=f"const facts = {facts};\n"
        )
        html = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Loci</title>'
            f"<style>{''.join(map(_static, VIEW_STYLES))}</style></head>"
            f'<body><main id="view"></main><p id="said" class="unseen" aria-live="polite"></p>'
            f"<script>{programs}</script></body></html>"
        )
        return TextResourceContents(uri=uri, mime_type=VIEW_TYPE, text=html, _meta={"ui": {"prefersBorder": True}})
