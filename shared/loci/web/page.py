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
from typing import Final

from loci.core.json import JsonObject
from loci.web.facts import encodable

GRAPH: Final = (
    *("dom", "shell", "graph/data", "graph/layout", "graph/tree", "graph/camera", "graph/labels", "graph/draw"),
    *(
        "graph/inline",
        "graph/text",
        "graph/panel",
        "graph/search",
        "graph/legend",
        "graph/pointer",
        "graph/keys",
        "graph/main",
    ),
)
NEEDS: Final = (
    '<noscript><p class="plain">This page needs JavaScript, which is turned off in this browser.</p></noscript>'
)
OWN: Final = "'self'"
PLACE = re.compile(r"\{\{(\w+)\}\}")
# JSON allows these escapes. Unescaped, the characters could end the element, or be an entity or a line end.
ESCAPED = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """HTML, and the security policy for it."""

    html: str
    policy: str


def graph_page(shown: JsonObject, title: str, groups: str = "Topics", bar: str = "") -> HtmlPage:
    """The page of a drawn picture. `groups` is the heading above its groups; `bar` the navigation, if it is served."""
    return filled(
        "shell.html",
        {
            "bar": bar,
            "needs": NEEDS,
            "form": "",
            "root": "",
            "heading": html.escape(encodable(title)),
            "data": embedded(shown),
            "groups": html.escape(groups),
        },
        body="graph/page.html",
        title=title,
        styles=["base.css", *(["bar.css"] if bar else []), "graph/page.css"],
        programs=GRAPH,
        waits=True,
        connects=[OWN] if shown["served"] else [],
    )


def filled(
    template: str,
    parts: Mapping[str, str],
    *,
    title: str,
    styles: Sequence[str],
    body: str | None = None,
    programs: Sequence[str] = (),
    waits: bool = False,
    connects: Sequence[str] = (),
    leads: Sequence[str] = (),
) -> HtmlPage:
    """Fill a template. Only its own styles and programs take effect, and it asks these origins only.

    `body`: the template of the page's own part. `waits`: its programs use `await`. `leads`: sources to which a form's
    answer may send the browser on.
    """
    css = "".join(map(_static, styles))
    script = _program(programs, waits=waits) if programs else ""
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
    return HtmlPage(PLACE.sub(lambda found: places[found[1]], whole), policy)


def embedded(value: JsonObject) -> str:
    """The value as JSON for a script element. No text in it can end the element."""
    return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).translate(ESCAPED)


def _program(names: Sequence[str], *, waits: bool) -> str:
    return (
        f"({'async ' if waits else ''}() => {{\n'use strict';\n"
        + "\n".join(_static(f"{name}.js") for name in names)
        + "})();\n"
    )


@cache
def _static(name: str) -> str:
    return (files("loci.web") / "static" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
