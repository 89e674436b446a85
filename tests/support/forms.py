"""The tokens that pages carry against forged requests."""

import html
import re

IN_FORM = re.compile(r'name="form" value="([^"]+)"')
IN_HEAD = re.compile(r'name="loci-form" content="([^"]+)"')


def form_token(page: bytes | str, where: re.Pattern[str] = IN_HEAD) -> str:
    """The token of the page; empty if it has none there."""
    found = where.search(page if isinstance(page, str) else page.decode())
    return html.unescape(found[1]) if found else ""
