"""The shell: what all pages have in common, and what each adds to it."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from loci.core.json import JsonObject
from loci.web.facts import encodable
from loci.web.form_tokens import FIELD
from loci.web.page import NEEDS, OWN, HtmlPage, embedded, filled
from loci.web.places import PLACES
from loci.web.visit import Visit

SHARED: Final = ("dom", "ask", "formats", "shell")
"""The programs that every page of the shell begins with."""


@dataclass(frozen=True, slots=True)
class PageKind:
    """A page of the shell. Its folder in `static` has `page.html`, `page.css` and its programs."""

    name: str
    """Of the folder."""
    programs: tuple[str, ...]
    """Of the folder, or with a slash in front, of `static`; in their order. None: it works without JavaScript."""
    styles: tuple[str, ...] = ()
    """Of `static`, besides its own."""
    place: str = ""
    """Of the navigation, if that has another name."""

    @property
    def files(self) -> list[str]:
        """The files of its programs."""
        return [one[1:] if one.startswith("/") else f"{self.name}/{one}" for one in self.programs]


def shell_page(
    kind: PageKind,
    visit: Visit,
    facts: JsonObject,
    *,
    title: str = "",
    count: str = "",
    depth: int = 0,
    connects: Sequence[str] = (OWN,),
    places: Mapping[str, str] | None = None,
) -> HtmlPage:
    """The page with these facts, for its program. It asks these origins.

    `count`: what stands before the title of the window. `depth`: how many folders its address is below `/ui`. `places`:
    what stands in its own part, as HTML.
    """
    place = kind.place or kind.name
    heading = title or PLACES[place]
    return filled(
        "shell.html",
        {
            **(places or {}),
            "bar": bar(place, visit, depth),
            "needs": NEEDS if kind.programs else "",
            "form": html.escape(visit.form()),
            "root": "../" * depth,
            "heading": html.escape(f"{count}{encodable(heading)} - Loci"),
            "data": embedded(facts),
        },
        body=f"{kind.name}/page.html",
        title=heading,
        styles=["base.css", "bar.css", *kind.styles, f"{kind.name}/page.css"],
        programs=[*SHARED, *kind.files],
        connects=connects,
    )


def bar(current: str, visit: Visit, depth: int = 0) -> str:
    """The navigation, and the way out for whoever signed in."""
    root = "../" * depth

    def link(name: str, title: str) -> str:
        here = ' aria-current="page"' if name == current else ""
        return f'<a href="{root}{name}"{here}>{html.escape(title)}</a>'

    links = "".join(link(name, title) for name, title in PLACES.items())
    out = (
        f'<form id="out" method="post" action="{root}sign-out">'
        f'<input type="hidden" name="{FIELD}" value="{html.escape(visit.form())}"><button>Sign out</button></form>'
        if visit.signed_in
        else ""
    )
    return (
        '<header id="bar"><a id="skip" href="#content">Skip to the content</a>'
        f'<nav id="places" aria-label="Pages">{links}</nav>{out}</header>'
    )
