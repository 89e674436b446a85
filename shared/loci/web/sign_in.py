"""The page that asks for a key, or leads to the issuer, and the one that leads on from another site."""

import html
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from loci.web.page import OWN, HtmlPage, filled

SIGN_IN: Final = ("base.css", "sign_in.css")
ISSUER: Final = "issuer"
"""The address, beside the other pages, that leads to the issuer."""


def sign_in_page(to: str, problem: str = "", issuer: str | None = None) -> HtmlPage:
    """The form. It says what was wrong the last time, and leads to the page that the visitor came for."""
    said = f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""
    places = {"problem": said, "to": html.escape(to), "issuer": _leads_to(issuer, to) if issuer else ""}
    return filled(
        "words.html",
        places,
        body="sign_in.html",
        title="Sign in to Loci",
        styles=SIGN_IN,
        programs=["sign_in"],
        connects=[OWN],
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
