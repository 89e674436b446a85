"""The page of connections: which clients a person has let in, as HTML that needs no program."""

import html
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode, urlsplit

from loci.core.finding import counted
from loci.core.json import iso
from loci.core.scopes import SCOPES
from loci.core.seen import seen
from loci.core.settings import Settings
from loci.mcp.auth.grants import Grant
from loci.mcp.auth.oauth_client import home_of
from loci.web.facts import encodable
from loci.web.form_tokens import FIELD
from loci.web.page import HtmlPage
from loci.web.shell import PageKind, shell_page
from loci.web.visit import Visit

PAGE: Final = PageKind("connections", (), ("content.css", "sure.css"))
FIRST: Final = 25
"""Connections at most."""
ROOM: Final = 40_000
"""Bytes of them. A client chooses its name, and how long its addresses are."""
HOW: Final = "docs/connect.md says how, for each client"


def connections_page(
    settings: Settings, visit: Visit, grants: Sequence[Grant], first: int = 0, ended: Grant | None = None
) -> HtmlPage:
    """Some of the person's connections, from this one on, and a word about the one that has just ended."""
    first = first if first < len(grants) else 0
    rows = list[str]()
    for one in grants[first : first + FIRST]:
        row = _row(one, visit)
        if rows and sum(map(_size, rows)) + _size(row) > ROOM:
            break
        rows.append(row)
    further = _step("The newest", visit) if first else ""
    if first + len(rows) < len(grants):
        further += _step("Older ones", visit, first + len(rows))
    told = _told(settings, len(grants))
    if ended is not None:
        said = f"{_name(ended)} is no longer connected: its tokens are refused, and it must ask you again."
        told = f'<p role="status">{said}</p>{told}'
    return shell_page(PAGE, visit, {}, places={"told": told, "rows": "".join(rows), "further": further})


def _told(settings: Settings, number: int) -> str:
    """How many there are; if there are none, how one comes about here."""
    if number:
        order = ", the newest first" if number > 1 else ""
        return f'<p class="counts">{counted(number, "connection")}{order}</p>'
    if settings.oauth != "built-in":
        return f'<p class="counts">{_without_consent(settings)}</p>'
    address = _text(f"{settings.base_url}/mcp")
    return f"""<p class="counts">You have let no client in.</p>
  <p>To connect one that runs on your machine: <code>loci connect</code>. Into others, such as Claude or ChatGPT, paste
  <code>{address}</code>: they ask you here what they may do. {HOW}.</p>"""


def _without_consent(settings: Settings) -> str:
    if settings.oidc_issuer:
        where = _text(urlsplit(settings.oidc_issuer).netloc)
        return f"Clients get their tokens from {where}, and not by a consent here: it is where you end their access."
    return "No client connects by consent here: clients start Loci themselves, or come with an API key if it needs one."


def _row(one: Grant, visit: Visit) -> str:
    may = "".join(f'<li class="chip">{html.escape(SCOPES[scope])}</li>' for scope in one.scopes)
    return f"""<li><h2>{_name(one)}</h2>
  <p class="under">{_came_from(one)}</p>
  <ul class="chips" aria-label="It may">{may}</ul>
  <p class="under">{_times(one)}</p>
  {_end(one, visit)}</li>"""


def _came_from(one: Grant) -> str:
    home = home_of(one.client)
    proof = f"It comes from <b>{_text(home)}</b>" if home else "It chose this name itself"
    return f"{proof}. Your browser went back to <b>{_text(one.place)}</b>."


def _times(one: Grant) -> str:
    """A client in use renews its token each hour."""
    goes_on = " if it is not used until then" if one.by.issuer is None else ", and you are asked again"
    return (
        f"Connected {_time(one.created)}, used last about {_time(iso(one.renewed))};"
        f" ends {_time(iso(one.until))}{goes_on}"
    )


def _end(one: Grant, visit: Visit) -> str:
    label = html.escape(f"End it: {_plain(one.client_name)}")
    return f"""<details class="end"><summary class="act gone" aria-label="{label}">End it</summary>
  <form method="post" action="{_address(visit, id=one.id)}">
    <input type="hidden" name="{FIELD}" value="{html.escape(visit.form())}">
    <p>Its tokens stop at once. The next time it must ask you again.</p>
    <button class="act gone">End this connection</button>
  </form></details>"""


def _step(words: str, visit: Visit, first: int | None = None) -> str:
    more = {} if first is None else {"from": str(first)}
    return f'<a class="step" href="{_address(visit, **more)}">{words}</a>'


def _address(visit: Visit, **query: str) -> str:
    """An address of this page, with the key that it was loaded with if that came in its address."""
    if key := visit.request.query_params.get("apikey"):
        query["apikey"] = key
    return html.escape(f"connections?{urlencode(query)}" if query else "connections")


def _name(one: Grant) -> str:
    return f"<bdi>{_text(one.client_name)}</bdi>"


def _time(at: str) -> str:
    return f'<time datetime="{html.escape(at)}">{html.escape(f"{at[:10]} {at[11:16]}")} UTC</time>'


def _text(text: str) -> str:
    return html.escape(_plain(text))


def _plain(text: str) -> str:
    return encodable(seen(text))


def _size(row: str) -> int:
    return len(row.encode())
