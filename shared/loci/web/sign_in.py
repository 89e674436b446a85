"""The page that asks for a key."""

import html

from loci.web.page import HtmlPage, filled


def sign_in_page(problem: str = "") -> HtmlPage:
    """The form. It says what was wrong the last time."""
    said = f'<p class="problem" role="alert">{html.escape(problem)}</p>' if problem else ""
    return filled("sign_in.html", {"problem": said}, title="Sign in to Loci", style="sign_in.css", connects=True)
