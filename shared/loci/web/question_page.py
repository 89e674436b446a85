"""The page of one question: what will run, and the form that answers it. It has no program."""

import html
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from loci.core.errors import LociError
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, iso
from loci.core.seen import seen
from loci.tools.waiting_calls import MARK
from loci.web.facts import encodable
from loci.web.page import OWN, HtmlPage, filled
from loci.web.persons import PIN_NEEDED
from loci.web.sign_in import SIGN_IN
from loci.web.visit import FIELD
from loci.workflows.run import status_said

if TYPE_CHECKING:
    from loci.tools.api import Tools


LONGEST: Final = 4000
HINTS: Final = {
    ("readOnlyHint", True): "It only reads",
    ("readOnlyHint", False): "It changes something",
    ("destructiveHint", True): "It may destroy something",
    ("destructiveHint", False): "It destroys nothing",
    ("idempotentHint", True): "A repetition changes nothing more",
    ("idempotentHint", False): "Each repetition changes something again",
    ("openWorldHint", True): "It reaches the world outside",
    ("openWorldHint", False): "It stays in its own world",
}


def tool_words(tools: "Tools", owner: Owner, tool: str) -> JsonObject | None:
    """The title, description, hints and change of a tool; None if nobody knows the tool any more."""
    from loci.tools.policy import hints as hints_of
    from loci.tools.tool_changes import change_of
    from loci.tools.tool_server import UpstreamTool

    try:
        known = tools.gateway.described(owner, tool)
    except LociError:
        return None
    said = hints_of(known)
    hints: list[Json] = [text for (name, value), text in HINTS.items() if said.get(name) is value]
    title = known.title and seen(known.title)
    changed = change_of(known) if isinstance(known, UpstreamTool) and known.seen else None
    change: JsonObject | None = changed and {"difference": changed.difference, "version": changed.version}
    return {"title": title, "description": seen(known.description[:LONGEST]), "hints": hints, "change": change}


LONGEST_FEEDBACK: Final = 2000
STYLES: Final = (*SIGN_IN, "approve.css")
WARNING: Final = "These are the tool&rsquo;s own words: nobody has checked them."
PIN: Final = """<label for="pin">Your PIN, to approve</label>
    <input id="pin" name="pin" type="password" maxlength="200" autocomplete="off">"""
ALL: Final = '<a href="runs">All that waits</a>'


def question_page(
    asked: Mapping[str, Any], token: str, form_token: str, lacks: LociError | None = None, problem: str = ""
) -> HtmlPage:
    """The page of an open question.

    `lacks`: what the visitor lacks to approve it; `problem`: what was wrong the last time.
    """
    is_layer = asked["kind"] == "layer"
    run = f"runs/{html.escape(asked['workflow_id'])}"
    parts = [f'<h2 dir="auto">{_text(what_of(asked))}</h2>', _why(asked, is_layer=is_layer), _who(asked, run)]
    if asked["title"]:
        parts.append(f'<p dir="auto">It is for: {_text(asked["title"])}</p>')
    if asked["intent"]:
        parts.append(f'<p dir="auto">It says: {_text(asked["intent"])}</p>')
    if not is_layer:
        parts.append(_block("Arguments", asked["arguments"]))
    if asked["code"]:
        parts.append(_block("Code", asked["code"]))
    if asked["is_cut"]:
        whole = f"{run}#{quote(encodable(asked['task']), safe='')}"
        parts.append(f'<p class="note">This is only the beginning: <a href="{whole}">see all of it</a></p>')
    if asked["says"]:
        parts.append(_own_words(asked["says"]))
        if asked["says"]["change"]:
            parts.append(_block("How its server changed it", asked["says"]["change"]["difference"]))
    if asked["before"]:
        before = ", ".join(f"{one['tool']} ({one['outcome']})" for one in asked["before"])
        parts.append(f'<p class="note" dir="auto">Before it: {_text(before)}</p>')
    form = _form(token, form_token, lacks, problem, is_layer=is_layer)
    return _filled("Approve a step", "".join(parts) + form + f"<p>{ALL}</p>", 400 if problem else 200)


def over_page(id: str, status: Json, done: str = "", status_code: int = 200) -> HtmlPage:
    """The page of a run, or of a call, whose question is closed: because it was just answered (`done`), or before."""
    said = done or "This question is answered already, or it has expired."
    if id.startswith(MARK):
        return _filled("Call", f'<p role="status">{said}</p><p>{ALL}.</p>', status_code)
    link = f'<a href="runs/{html.escape(id)}">See the run</a>'
    told = f'<p role="status">{said}</p><p>It {html.escape(status_said(str(status)))}.</p><p>{link}. {ALL}.</p>'
    return _filled("Workflow", told, status_code)


def what_of(asked: Mapping[str, Any]) -> str:
    """What is asked about, in one line."""
    if asked["kind"] == "layer":
        return "A layer has ended"
    who = "A client" if asked["kind"] == "call" else seen(str(asked["task"]))
    return f"{who} wants to run code" if asked["code"] else f"{who} wants to call {seen(str(asked['tool']))}"


def _why(asked: Mapping[str, Any], *, is_layer: bool) -> str:
    if is_layer:
        return f'<p dir="auto">Next: {_text(", ".join(asked["next"])) or "the end"}.</p>'
    only = " Only a person may answer." if asked["only_human"] else ""
    return f'<p dir="auto">Why it asks: {_text(asked["reason"])}.{only}</p>'


def _who(asked: Mapping[str, Any], run: str) -> str:
    at = iso(asked["since"])
    when = f'<time datetime="{at}">{at[:10]} {at[11:-1]} UTC</time>'
    link = f'<a href="{run}">{html.escape(asked["workflow_id"])}</a>'
    where = "" if asked["kind"] == "call" else f", in {link}"
    return f'<p class="note">Asked by {_text(asked["asked_by"])}, {when}{where}</p>'


def _block(name: str, text: str) -> str:
    return f'<h3>{name}</h3><pre tabindex="0" dir="auto" role="region" aria-label="{name}">{_text(text)}</pre>'


def _own_words(says: Mapping[str, Any]) -> str:
    quoted = "".join(f'<p dir="auto">{_text(says[name])}</p>' for name in ("title", "description") if says[name])
    hints = "".join(f"<li>{html.escape(one)}</li>" for one in says["hints"])
    quote = f"<blockquote>{quoted}{f'<ul>{hints}</ul>' if hints else ''}</blockquote>"
    return f'<h3>What the tool says about itself</h3><p class="note">{WARNING}</p>{quote}'


def _form(token: str, form_token: str, lacks: LociError | None, problem: str, *, is_layer: bool) -> str:
    yes, no = ("Go on", "Stop") if is_layer else ("Approve", "Reject")
    approve, pin = f'<button name="answer" value="approve">{yes}</button>', ""
    if lacks is not None and lacks.code == PIN_NEEDED:
        pin = PIN
    elif lacks is not None:
        approve, problem = "", str(lacks)
    said = f'<p class="problem" role="alert">{_text(problem)}</p>' if problem else ""
    return f"""<form method="post" action="approve?link={html.escape(token)}">
    {said}
    <input type="hidden" name="{FIELD}" value="{html.escape(form_token)}">
    <label for="feedback">Note, kept with the answer</label>
    <input id="feedback" name="feedback" maxlength="{LONGEST_FEEDBACK}" autocomplete="off">
    {pin}
    {approve}
    <button name="answer" value="reject" class="plain">{no}</button>
  </form>"""


def _text(text: str) -> str:
    return html.escape(encodable(seen(text)), quote=False)


def _filled(title: str, told: str, status: int = 200) -> HtmlPage:
    page = filled("words.html", {"body": told}, title=title, styles=STYLES, connects=[OWN])
    return replace(page, status=status)
