"""Pages: one HTML document each, with its style, its program and its content. They load nothing."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from loci.core.json import JsonObject
from loci.web.facts import encodable

PROGRAM: Final = (
    "data",
    "layout",
    "tree",
    "camera",
    "labels",
    "draw",
    "text",
    "panel",
    "search",
    "legend",
    "pointer",
    "keys",
    "main",
)
PLACE = re.compile(r"\{\{(\w+)\}\}")
# JSON allows these escapes. Unescaped, the characters could end the element, or be an entity or a line end.
ESCAPED = {ord(one): f"\\u{ord(one):04x}" for one in "<>&\u2028\u2029"}


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """HTML, and the security policy for it."""

    html: str
    policy: str


def graph_page(shown: JsonObject, title: str, groups: str = "Topics") -> HtmlPage:
    """The page of a drawn picture. `groups` is the heading above its groups."""
    script = "(() => {\n'use strict';\n" + "\n".join(_static(f"graph/{name}.js") for name in PROGRAM) + "})();\n"
    places = {"data": embedded(shown), "groups": html.escape(groups)}
    return filled("graph.html", places, title=title, script=script, style="graph.css", connects=bool(shown["served"]))


def filled(
    template: str, parts: Mapping[str, str], *, title: str, style: str, script: str = "", connects: bool = False
) -> HtmlPage:
    """Fill a template. Only its own style and program take effect."""
    css = _static("base.css") + _static(style)
    policy = "; ".join(
        [
            "default-src 'none'",
            *([f"script-src {_hash(script)}"] if script else []),
            f"style-src {_hash(css)}",
            "img-src data:",
            *(["connect-src 'self'", "form-action 'self'"] if connects else ["form-action 'none'"]),
            "base-uri 'none'",
        ]
    )
    places = {"policy": policy, "title": html.escape(encodable(title)), "style": css, "script": script, **parts}
    # In one go: what is put in is never looked through for places.
    return HtmlPage(PLACE.sub(lambda found: places[found[1]], _static(template)), policy)


def embedded(value: JsonObject) -> str:
    """The value as JSON for a script element. No text in it can end the element."""
    return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":"))).translate(ESCAPED)


@cache
def _static(name: str) -> str:
    return (files("loci.web") / "static" / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
