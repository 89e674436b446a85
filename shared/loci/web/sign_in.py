"""The page that asks for a key."""

import html
from typing import Final

from loci.web.page import OWN, HtmlPage, filled

SIGN_IN: Final = ("base.css", "sign_in.css")


def sign_in_page(to: str, problem: str = "") -> HtmlPage:
    """The form. It says what was wrong the last time, and leads to the page that the visitor came for."""
    said = f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""
    places = {"problem": said, "to": html.escape(to)}
    return filled("sign_in.html", places, title="Sign in to Loci", styles=SIGN_IN, connects=[OWN])
