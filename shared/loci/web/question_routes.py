"""What waits for a person: the list of it, who may answer, and `/ui/approve`, the page of one question."""

import html
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from loci.app import App
from loci.auth.pins import no_pin, pins_of
from loci.core.errors import LociError, Refused
from loci.core.identity import Caller, Owner, asked_by
from loci.core.json import Json, JsonObject, encodable, iso
from loci.core.seen import visible
from loci.core.server_questions import LONGEST_ANSWER, choices_of
from loci.gateway.waiting_calls import LARGEST, MARK
from loci.mcp.approval import APPROVAL_NEEDED
from loci.mcp.http.refusal import Refusal
from loci.mcp.threads import WRITES, on_thread, on_thread_of
from loci.web import answers
from loci.web.asked_arguments import arguments_block, change_block, changes_of, folded
from loci.web.browser_auth import APPROVE, BrowserAuth, Visit
from loci.web.page import FIELD, OWN, SIGN_IN, HtmlPage, filled
from loci.workflows.run import WITH_PIN, Answerer, status_text
from loci.workflows.run_views import CODE

if TYPE_CHECKING:
    from loci.gateway.api import Tools


PIN_NEEDED: Final = "PIN_NEEDED"
LONGEST: Final = 4000
BADGES: Final = {
    "It only reads": "read only",
    "It changes something": "writes",
    "It may destroy something": "destructive",
    "It destroys nothing": "not destructive",
    "A repetition changes nothing more": "idempotent",
    "Each repetition changes something again": "not idempotent",
    "It reaches the world outside": "open world",
    "It stays in its own world": "closed world",
}
"""The short words for the hints below."""
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
LONGEST_FEEDBACK: Final = 2000
STYLES: Final = (*SIGN_IN, "approve.css")
WARNING: Final = "These are the tool&rsquo;s own words: nobody has checked them."
FORM_WARNING: Final = "The server gets what you write here. Write no password and no key."
ANSWER: Final = "answer-"
"""The beginning of the names of the fields of a server's question."""
PIN: Final = """<div><label for="pin">Your PIN, to approve</label>
    <input id="pin" name="pin" type="password" maxlength="200" autocomplete="off"></div>"""
ALL: Final = '<a href="runs">All that waits</a>'
LONGEST_SHOWN: Final = 20_000
"""Characters of a task's arguments, or of its code, on the page of its question. The page of the run has the rest."""
LARGEST_SHOWN: Final = 10 * LARGEST
"""The same of a call, which has no other page: all of it, also if each character must be written out."""
IN_ROW: Final = (
    *("kind", "workflow_id", "checkpoint_id", "task", "tool", "reason", "title", "asked_by", "since", "until", "next"),
)


class Persons:
    """Asks visitors to prove that they are a person, and checks it. No page keeps a proof."""

    def __init__(self, app: App) -> None:
        self._pins = pins_of(app.settings, app.records)

    def answerer(self, caller: Caller, pin: str = "") -> Answerer:
        """The visitor, as somebody who answers. Raises `Refused` if the PIN is wrong, or if no PIN counts here."""
        if caller.is_person:
            return Answerer(asked_by(caller.as_json()), "page", is_person=True)
        if pin:
            _check_way(caller)
            self._pins.check(pin)
            return Answerer(WITH_PIN, "page", is_person=True)
        who = "somebody at this machine" if caller.proof == "local" else asked_by(caller.as_json())
        return Answerer(who, "page", is_person=False)

    def check(self, caller: Caller, pin: str) -> None:
        """Refuse a visitor who has not proved to be a person."""
        by, lacks = self.answerer(caller, pin), self.lacking(caller)
        if lacks and not by.is_person:
            raise lacks

    def lacking(self, caller: Caller) -> LociError | None:
        """The refusal of a visitor who has not proved to be a person, which says how they do; None if they have."""
        if caller.is_person:
            return None
        try:
            _check_way(caller)
        except Refused as refused:
            return refused
        if not self._pins.is_set:
            return no_pin()
        return Refused("Only a person may decide this", "Give your PIN", code=PIN_NEEDED)


def _check_way(caller: Caller) -> None:
    """Refuse a visitor for whom no PIN counts: where people sign in, their own sign-in is the proof."""
    if caller.proof != "local":
        advice = "Sign in with a key of your own, made with: loci keys create NAME --person"
        what = "Only a person may decide this, and this sign-in is not a person's"
        raise Refused(what, advice, code="NOT_A_PERSON")


def tool_words(tools: "Tools", owner: Owner, tool: str) -> JsonObject | None:
    """The title, description, hints and change of a tool; None if nobody knows the tool any more."""
    from loci.gateway.policy import hints as hints_of
    from loci.gateway.tool_changes import change_of
    from loci.gateway.tool_server import UpstreamTool

    try:
        known = tools.gateway.described(owner, tool)
    except LociError:
        return None
    said = hints_of(known)
    hints: list[Json] = [text for (name, value), text in HINTS.items() if said.get(name) is value]
    title = known.title and visible(known.title)
    changed = change_of(known) if isinstance(known, UpstreamTool) and known.seen else None
    change: JsonObject | None = changed and {"difference": changed.difference, "version": changed.version}
    return {"title": title, "description": visible(known.description[:LONGEST]), "hints": hints, "change": change}


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
        parts.append(f"<p>It says:</p>{folded(visible(asked['intent']), 300, 4)}")
    parts.append(asked["shown"])
    if asked["code"]:
        parts.append(f"<h3>Code</h3>{folded(asked['code'], 2000, 40)}")
    if asked["is_cut"]:
        whole = f"{run}#{quote(encodable(asked['task']), safe='')}"
        parts.append(f'<p class="note">This is only the beginning: <a href="{whole}">see all of it</a></p>')
    if asked["says"]:
        parts.append(_own_words(asked["says"]))
        if asked["says"]["change"]:
            parts.append(f"<h3>How its server changed it</h3>{folded(asked['says']['change']['difference'], 2000, 40)}")
    if asked["before"]:
        before = ", ".join(f"{one['tool']} ({one['outcome']})" for one in asked["before"])
        parts.append(f'<p class="note" dir="auto">Before it: {_text(before)}</p>')
    form = _form(token, form_token, lacks, problem, asked.get("form"), is_layer=is_layer)
    return _filled(
        "Answer a question" if asked.get("form") else "Approve a step",
        "".join(parts) + form + f"<p>{ALL}</p>",
        400 if problem else 200,
    )


def over_page(id: str, status: Json, done: str = "", status_code: int = 200) -> HtmlPage:
    """The page of a run, or of a call, whose question is closed: because it was just answered (`done`), or before."""
    said = done or "This question is answered already, or it has expired."
    if id.startswith(MARK):
        return _filled("Call", f'<p role="status">{said}</p><p>{ALL}.</p>', status_code)
    link = f'<a href="runs/{html.escape(id)}">See the run</a>'
    told = f'<p role="status">{said}</p><p>It {html.escape(status_text(str(status)))}.</p><p>{link}. {ALL}.</p>'
    return _filled("Workflow", told, status_code)


def what_of(asked: Mapping[str, Any]) -> str:
    """Return the subject of the question in one line."""
    if asked["kind"] == "layer":
        return "A layer has ended"
    who = "A client" if asked["kind"] == "call" else visible(str(asked["task"]))
    return f"{who} wants to run code" if asked["code"] else f"{who} wants to call {visible(str(asked['tool']))}"


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
    left = f"It expires in {_time_left(asked['until'] - time.time())}."
    return f'<p class="note">Asked by {_text(asked["asked_by"])}, {when}{where}. {left}</p>'


def _time_left(seconds: float) -> str:
    minutes = max(0, int(seconds // 60))
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 2880 else f"{minutes // 1440} days"


def _badge(hint: str) -> str:
    word = BADGES[hint]
    return f'<li class="{word.replace(" ", "-")}" title="{hint}">{word}</li>'


def _own_words(says: Mapping[str, Any]) -> str:
    quoted = "".join(folded(says[name], 400, 8) for name in ("title", "description") if says[name])
    badges = "".join(_badge(one) for one in says["hints"])
    quote = f"<blockquote>{f'<ul>{badges}</ul>' if badges else ''}{quoted}</blockquote>"
    return f'<h3>What the tool says about itself</h3><p class="note">{WARNING}</p>{quote}'


def _form(
    token: str,
    form_token: str,
    lacks: LociError | None,
    problem: str,
    form: Mapping[str, Any] | None,
    *,
    is_layer: bool,
) -> str:
    yes, no = ("Go on", "Stop") if is_layer else ("Answer", "Decline") if form else ("Approve", "Reject")
    fields = f'<p class="note">{FORM_WARNING}</p>{_fields(form)}' if form else ""
    approve, pin = f'<button name="answer" value="approve">{yes}</button>', ""
    if lacks is not None and lacks.code == PIN_NEEDED:
        pin = PIN
    elif lacks is not None:
        approve, problem = "", str(lacks)
    said = f'<p class="problem" role="alert">{_text(problem)}</p>' if problem else ""
    kind = "" if form else ' class="beside"'
    return f"""<form{kind} method="post" action="approve?link={html.escape(token)}">
    {said}
    <input type="hidden" name="{FIELD}" value="{html.escape(form_token)}">
    {fields}
    <div><label for="feedback">Note, kept with the answer</label>
    <input id="feedback" name="feedback" maxlength="{LONGEST_FEEDBACK}" autocomplete="off"></div>
    {pin}
    {approve}
    <button name="answer" value="reject" class="plain" formnovalidate>{no}</button>
  </form>"""


def _fields(form: Mapping[str, Any]) -> str:
    """The fields of a server's question."""
    return "".join(
        _field(number, name, schema, is_needed=name in form["required"])
        for number, (name, schema) in enumerate(form["properties"].items())
    )


def _field(number: int, name: str, schema: Mapping[str, Any], *, is_needed: bool) -> str:
    id, kind, default = f"{ANSWER}{number}", schema["type"], schema.get("default")
    title = _text(str(schema.get("title") or name))
    label = f'<label for="{id}" dir="auto">{title}{"" if is_needed or kind == "boolean" else " (optional)"}</label>'
    about = f'<p class="note" dir="auto">{_text(str(schema["description"]))}</p>' if schema.get("description") else ""
    needed = " required" if is_needed else ""
    if choices := choices_of(schema):
        several = " multiple" if kind == "array" else ""
        options = "".join(
            f'<option value="{html.escape(one)}"{" selected" if one == default else ""}>{_text(text)}</option>'
            for one, text in choices
        )
        none = "" if several or is_needed else "<option></option>"
        return f'{label}{about}<select id="{id}" name="{id}"{several}{needed}>{none}{options}</select>'
    if kind == "boolean":
        checked = " checked" if default is True else ""
        return f'<label dir="auto"><input type="checkbox" name="{id}" value="true"{checked}> {title}</label>{about}'
    value = "" if default is None else html.escape(visible(str(default)))
    numeric = ' type="number" step="any"' if kind in ("number", "integer") else f' maxlength="{LONGEST_ANSWER}"'
    return f'{label}{about}<input id="{id}" name="{id}" value="{value}"{numeric}{needed} autocomplete="off">'


def _given(form: Mapping[str, Any] | None, posted: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]] | None:
    """The posted answers by the names of the fields; None without a form."""
    if form is None:
        return None
    return {name: posted.get(f"{ANSWER}{number}", ()) for number, name in enumerate(form["properties"])}


def _text(text: str) -> str:
    return html.escape(encodable(visible(text)), quote=False)


def _filled(title: str, told: str, status: int = 200) -> HtmlPage:
    return filled("words.html", {"body": told}, title=title, styles=STYLES, connects=[OWN], status=status)


class QuestionRoutes:
    """The questions of workflows and of calls."""

    def __init__(self, app: App, visitors: BrowserAuth, persons: Persons) -> None:
        self._app = app
        self._visitors = visitors
        self._persons = persons

    def routes(self) -> Sequence[Route]:
        return [
            Route("/ui/approve", self._visitors.html_page(APPROVE, self._page), methods=["GET"]),
            Route("/ui/approve", self._decided, methods=["POST"]),
        ]

    def waiting(self, owner: Owner) -> tuple[Iterable[JsonObject], int]:
        """The questions as rows of a list, the oldest first, and how many there are."""
        asked = self._app.workflows.views.questions(owner)
        return (self.row(owner, one) for one in asked), len(asked)

    def row(self, owner: Owner, question: JsonObject) -> JsonObject:
        """A question as a row of a list, with the address of its page below `/ui`."""
        link = self._app.workflows.parts.links.url(owner, str(question["workflow_id"]), str(question["checkpoint_id"]))
        told = {name: visible(one) if isinstance(one := question[name], str) else one for name in IN_ROW}
        return {**told, "id": question["checkpoint_id"], "what": what_of(question), "link": link.rpartition("/ui/")[2]}

    def _page(self, visit: Visit, problem: str = "") -> HtmlPage:
        owner, token = visit.caller.owner, visit.request.query_params.get("link", "")
        linked, run = self._app.workflows.linked_checkpoint(owner, token)
        asked = cast("JsonObject | None", run["checkpoint"])
        if asked is None or asked["checkpoint_id"] != linked.checkpoint_id:
            return over_page(linked.workflow_id, run["status"])
        lacks = self._persons.lacking(visit.caller) if asked["only_human"] else None
        return question_page(self._shown(owner, asked), token, visit.form(token), lacks, problem)

    def _shown(self, owner: Owner, question: JsonObject) -> JsonObject:
        tool = str(question["tool"])
        arguments = cast("JsonObject", question["arguments"])
        code = visible(str(question["code"] or ""))
        most = LARGEST_SHOWN if question["kind"] == "call" else LONGEST_SHOWN
        change = changes_of(self._app, owner, tool, arguments)
        shown, is_cut = arguments_block(arguments, most) if question["kind"] != "layer" else ("", False)
        return {
            **question,
            "shown": (change_block(change) if change else "") + shown,
            "code": code[:most] or None,
            "is_cut": is_cut or len(code) > most,
            "says": tool_words(self._app.tools, owner, tool) if tool not in ("", CODE) else None,
        }

    async def _decided(self, request: Request) -> Response:
        visit = await self._visitors.visit(request)
        token = request.query_params.get("link", "")
        await on_thread(self._app.workflows.linked_checkpoint, visit.caller.owner, token)
        posted = await visit.posted(token)
        given = {name: values[0] for name, values in posted.items()}
        if given.get("answer") not in ("approve", "reject"):
            raise Refusal(400, "This form says neither approve nor reject")
        began = time.perf_counter()
        page = await on_thread_of(WRITES, self._answered, visit, token, given, posted)
        self._visitors.tell("ui_approve", visit.caller, began, len(page.html))
        return answers.html(page)

    def _answered(
        self, visit: Visit, token: str, given: dict[str, str], posted: Mapping[str, Sequence[str]]
    ) -> HtmlPage:
        owner, caller, approved = visit.caller.owner, visit.caller, given["answer"] == "approve"
        linked, run = self._app.workflows.linked_checkpoint(owner, token)
        form = cast("dict[str, Any]", run["checkpoint"] or {}).get("form")
        try:
            decided = self._app.workflows.decide(
                owner,
                linked.workflow_id,
                linked.checkpoint_id,
                approved=approved,
                by=self._persons.answerer(caller, given.get("pin", "") if approved else ""),
                feedback=given.get("feedback", "").strip()[:LONGEST_FEEDBACK] or None,
                wait=False,
                given=_given(form, posted),
            )
        except Refused as refused:
            if refused.code == "CHECKPOINT_CLOSED":
                return over_page(
                    linked.workflow_id,
                    self._app.workflows.linked_checkpoint(owner, token)[1]["status"],
                    status_code=400,
                )
            if refused.code == APPROVAL_NEEDED:
                return self._page(visit, str(self._persons.lacking(caller) or refused))
            if refused.code in ("PIN_WRONG", "PIN_WAIT", "NOT_A_PERSON", "NO_PIN", "BAD_ANSWER"):
                return self._page(visit, str(refused))
            raise
        goes_on = "this call goes through once" if linked.workflow_id.startswith(MARK) else "the workflow goes on"
        done = f"Approved: {goes_on}." if approved else "Rejected: it does not run."
        if form is not None:
            done = "Answered: the same call goes on." if approved else "Declined: the server is told so."
        return over_page(linked.workflow_id, decided["status"], done)
