"""Calls that wait for a person: each has a question, whose answer is valid once, for this call and its arguments."""

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from loci.core.cancellation import Cancellation
from loci.core.deadline import time_left
from loci.core.errors import Conflict, NotFound, Refused
from loci.core.events import Tell
from loci.core.identity import LOCAL, Caller, Owner, asked_by
from loci.core.ids import content_id, random_id
from loci.core.json import Json, JsonObject, string
from loci.core.secrets_in_text import argument_sizes
from loci.core.server_questions import ServerQuestion, fit_answer
from loci.core.signing import Seal
from loci.core.stores import ABSENT, Record, RecordStore, every, read_or_none, readable
from loci.core.telemetry import Door
from loci.gateway.call_history import PENDING, CallLog
from loci.gateway.tool_changes import version_of
from loci.gateway.tool_server import UpstreamTool

KIND: Final = "approval"
NUMBER: Final = re.compile(r"\d+")
MARK: Final = "ap_"
"""The beginning of the id of a call that waits. The ids of workflows begin otherwise."""
PATIENCE: Final = 25.0
"""Seconds for which a call waits before it answers that it is pending: many clients give up after 30 or 60."""
LOOK_SECONDS: Final = 0.3
ANSWERING: Final = 2.0
"""Seconds that remain of a request when its call stops waiting."""
MOST_QUESTIONS: Final = 100
"""The most open questions of an owner."""
MOST_WAITING: Final = 24
"""Calls of this process that hold a thread while they wait. More are answered at once as pending."""
REJECTED_SECONDS: Final = 3600.0
"""Seconds for which a rejection is kept for the call that it answers."""
LARGEST: Final = 64 * 1024
"""Characters of arguments that a person is asked to approve."""
PURPOSE: Final = "approval"
"""The purpose of the seal of links."""
PAGE: Final = "ui/approve?link="
BEFORE: Final = 5
"""The number of earlier calls that a person is shown."""


@dataclass(frozen=True, slots=True)
class LinkedCheckpoint:
    """The checkpoint behind a link."""

    workflow_id: str
    checkpoint_id: str


class ApprovalLinks:
    """Links to the page on which a person answers a checkpoint. Only Loci makes them, each for one owner."""

    def __init__(self, seal: Seal, base_url: str, lacks_pin: Callable[[], bool], *, has_terminal: bool) -> None:
        """`lacks_pin`: true while the person of this machine has no PIN. `has_terminal`: `loci approve` works here."""
        self._seal = seal
        self._base_url = base_url
        self._lacks_pin = lacks_pin
        self._has_terminal = has_terminal

    def url(self, owner: Owner, workflow_id: str, checkpoint_id: str) -> str:
        """The link to a checkpoint."""
        token = self._seal.close({"owner": owner.key, "workflow": workflow_id, "checkpoint": checkpoint_id})
        return f"{self._base_url}/{PAGE}{token}"

    def advice(self, owner: Owner, id: str, link: str | None) -> str:
        """A sentence that says how the person answers the question of this workflow or call."""
        is_here = self._has_terminal and owner == LOCAL
        ways = [f"open {link}"] if link else []
        ways += [f"run: loci approve {id}"] if is_here else []
        told = f"Ask them to {', or to '.join(ways) or 'look at /ui/runs'}"
        if is_here and self._lacks_pin():
            return f"{told}. They need a PIN for that, and have none yet: loci pin sets it"
        return told

    def checkpoint(self, owner: Owner, token: str) -> LinkedCheckpoint:
        """The checkpoint behind the link. Raises `NotFound` if Loci did not make it, or made it for somebody else."""
        claims = self._seal.open(token)
        if claims is None or claims.get("owner") != owner.key:
            raise NotFound("This link leads to nothing of yours", "Sign in as whoever started the workflow")
        return LinkedCheckpoint(string(claims["workflow"]), string(claims["checkpoint"]))


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call that a person is asked about."""

    caller: Caller
    door: Door
    tool: str
    arguments: JsonObject
    reason: str
    """Why a person must approve it."""
    seen: UpstreamTool | None = None
    """The tool, if it is a server's: a person approves a call of the tool as it is now."""
    question: ServerQuestion | None = None
    """The question of the tool's server that a person answers; None: they approve the call."""

    @property
    def version(self) -> str:
        return version_of(self.seen) if self.seen else ""

    @property
    def id(self) -> str:
        """The id, equal for the same caller, tool and arguments. Its length prevents a second call with the same id:
        a person would read only one of the two."""
        arguments = json.dumps(self.arguments, sort_keys=True, ensure_ascii=False)
        caller = self.caller
        way = "http" if caller.over_http else "stdio"
        who = (caller.owner.key, caller.proof, caller.credential, caller.name, way)
        # A server may name the time in its question: the answer is to the same question all the same.
        asked = self.question and [NUMBER.sub("0", self.question.message), json.dumps(self.question.form)]
        return f"{MARK}{content_id(*who, self.tool, arguments, *(asked or ()), length=32)}"


class WaitingCalls:
    """The questions about calls."""

    def __init__(
        self,
        records: RecordStore,
        log: CallLog,
        links: ApprovalLinks,
        clock: Callable[[], float],
        wait_seconds: float,
        tell: Tell,
    ) -> None:
        """`wait_seconds`: how long a question waits for its answer."""
        self._records = records
        self._log = log
        self._links = links
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._tell = tell
        self._places = threading.BoundedSemaphore(MOST_WAITING)

    def pass_approved(self, call: AskedCall, cancelled: Cancellation | None = None, *, waits: bool = True) -> Record:
        """Use up a person's approval of the call, as soon as they give it. Ask them, unless they are asked already.

        Raises `Refused` if they reject it, or have not answered in time: the same call goes through after the answer.
        """
        record = self._answer(call, cancelled, waits=waits)
        answer = _answer_in(record)
        if not answer["approved"]:
            note = f": {answer['note']}" if answer["note"] else ""
            who = "An agent" if answer["way"] == "agent" else "A person"
            what = f"{who} rejected this call{note}"
            raise Refused(what, "Do not repeat it; ask them", code="NOT_APPROVED")
        return record

    def keep(self, owner: Owner, answers: Iterable[Record]) -> None:
        """Keep answers for the repetition of a call that did not come to its end: it waits for another answer."""
        for one in answers:
            with suppress(Conflict):  # the person was asked again meanwhile
                expires = self._clock() + self._wait_seconds
                self._records.put(owner, KIND, one.key, one.value, expect_version=ABSENT, expires_at=expires)

    def answer_to(
        self,
        call: AskedCall,
        server: str,
        question: ServerQuestion,
        cancelled: Cancellation | None = None,
        *,
        waits: bool = True,
    ) -> tuple[JsonObject, Record]:
        """A person's answer to a question of the call's server, and its record, which is used up.

        They are asked, unless they are already. Raises `Refused` if they have not answered in time: the same call goes
        through after the answer.
        """
        reason = f"its server {server} asks: {question.message}"
        record = self._answer(replace(call, reason=reason, question=question), cancelled, waits=waits)
        answer = _answer_in(record)
        if not answer["approved"]:
            return {"action": "decline"}, record
        return {"action": "accept", "content": answer["content"]}, record

    def _answer(self, call: AskedCall, cancelled: Cancellation | None, *, waits: bool) -> Record:
        owner = call.caller.owner
        record = self._question_for(call)
        may_wait = waits and self._places.acquire(blocking=False)
        try:
            until = time.monotonic() + (_patience() if may_wait else 0.0)
            while record is not None:
                is_open = record.value.get("answer") is None
                if not is_open and self._use_up(owner, record):
                    return record
                if is_open and (time.monotonic() >= until or (cancelled is not None and cancelled())):
                    break
                if cancelled is not None:
                    cancelled.wait(LOOK_SECONDS)
                else:
                    time.sleep(LOOK_SECONDS)
                # Another call has used the answer up: a person is asked about this one.
                record = self._records.get(owner, KIND, call.id) or self._question_for(call)
        finally:
            if may_wait:
                self._places.release()
        raise self._pending(call, record)

    def questions(self, owner: Owner) -> list[JsonObject]:
        """The open questions, as people are shown them, the oldest first."""
        open_ones = (one for one in every(self._records, owner, KIND) if one.value.get("answer") is None)
        return sorted(readable(open_ones, self._question), key=lambda one: cast("float", one["since"]))

    def question(self, owner: Owner, id: str) -> JsonObject | None:
        """The open question about this call; None if it is answered, or nobody was asked."""
        record = self._records.get(owner, KIND, id)
        is_open = record is not None and record.value.get("answer") is None
        return read_or_none(record, self._question) if is_open else None

    def decide(
        self,
        owner: Owner,
        id: str,
        question_id: str,
        *,
        approved: bool,
        who: str,
        way: str,
        note: str,
        given: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """Answer the question. The second answer is refused. `given`: what a person wrote into its form."""
        record = self._records.get(owner, KIND, id)
        if record is None or record.value.get("question") != question_id or record.value.get("answer") is not None:
            raise Refused(
                "This question is answered already, or has expired", "Call the tool again", code="CHECKPOINT_CLOSED"
            )
        now = self._clock()
        answer: JsonObject = {"approved": approved, "who": who, "way": way, "note": note, "at": now}
        form = cast("dict[str, Any] | None", record.value.get("form"))
        if approved and form is not None:
            if given is None:
                what = f"A server asks the person something about this call of {record.value['tool']}"
                raise Refused(what, "Have them fill in its form on the page of the question", code="APPROVAL_NEEDED")
            answer["content"] = fit_answer(form, given)
        try:
            self._records.put(
                owner,
                KIND,
                id,
                {**record.value, "answer": answer},
                expect_version=record.version,
                expires_at=now + (self._wait_seconds if approved else REJECTED_SECONDS),
            )
        except Conflict:
            raise Refused(
                "This question was answered at this moment", "Look at it again", code="CHECKPOINT_CLOSED"
            ) from None
        what = "approve" if approved else "reject"
        self._tell(owner, "approval", {"state": "answered", **_event_fields(record), "decision": what, "way": way})

    def _question_for(self, call: AskedCall) -> Record | None:
        """The question about the call: the open one, or a new one."""
        owner = call.caller.owner
        if (known := self._records.get(owner, KIND, call.id)) is not None:
            if known.value.get("version", "") == call.version:
                return known
            self._use_up(owner, known)  # they were asked about the tool as it was before
        try:
            shown = json.dumps(call.arguments, indent=2, allow_nan=False)  # as the page has them, with all escapes
        except ValueError:
            what = f"The arguments of {call.tool} have a number that is too large for JSON"
            raise Refused(what, "Send another one", code="INVALID_PARAMS") from None
        if len(shown) > LARGEST:
            what = f"A person must approve this call of {call.tool}, and its arguments are too large to be read"
            raise Refused(what, f"Send at most {LARGEST >> 10} KB at once", code="APPROVAL_NEEDED")
        if len(self.questions(owner)) >= MOST_QUESTIONS:
            what = f"{MOST_QUESTIONS} calls of yours wait for a person, which is the most"
            raise Refused(what, "Wait until they have answered", code="TOO_MANY_QUESTIONS")
        now = self._clock()
        before: list[Json] = [
            {"tool": one.tool, "outcome": one.outcome, "at": one.at} for one in self._log.last(owner, BEFORE)
        ]
        value: JsonObject = {
            "question": f"cp_{random_id(12)}",
            "tool": call.tool,
            "arguments": call.arguments,
            "reason": call.reason,
            "version": call.version,
            "caller": call.caller.as_json(),
            "door": call.door,
            "before": before,
            "form": call.question and call.question.form,
            "since": now,
            "answer": None,
        }
        try:
            record = self._records.put(
                owner, KIND, call.id, value, expect_version=ABSENT, expires_at=now + self._wait_seconds
            )
        except Conflict:  # the same call, at this moment
            return self._question_for(call)
        self._tell(owner, "approval", {"state": "asked", **_event_fields(record)})
        return record

    def _use_up(self, owner: Owner, record: Record) -> bool:
        """Use up the answer. False if another call has used it."""
        try:
            self._records.remove(owner, KIND, record.key, expect_version=record.version)
        except (Conflict, NotFound):
            return False
        return True

    def _pending(self, call: AskedCall, record: Record | None) -> Refused:
        must = "approve this call" if call.question is None else "answer a question about this call"
        what = f"A person must {must} of {call.tool}: {call.reason}. It waits for their answer"
        details: JsonObject = {"approval_id": call.id}
        url: str | None = None
        if record is not None and call.caller.over_http:
            url = self._links.url(call.caller.owner, call.id, str(record.value.get("question")))
            details |= {"approval_url": url}
        asked = self._links.advice(call.caller.owner, call.id, url)
        advice = f"{asked}. Then make the same call with the same arguments again: it goes through once"
        return Refused(what, advice, code=PENDING, details=details)

    def _question(self, record: Record) -> JsonObject:
        """The question, and the time at which it expires."""
        asked = _question(record)
        return {**asked, "until": cast("float", asked["since"]) + self._wait_seconds}


def _patience() -> float:
    left = time_left()
    return PATIENCE if left is None else max(0.0, min(PATIENCE, left - ANSWERING))


def _answer_in(record: Record) -> dict[str, Any]:
    return cast("dict[str, Any]", record.value["answer"])


def _question(record: Record) -> JsonObject:
    """The question with the same fields as a question of a workflow."""
    value = record.value
    return {
        "workflow_id": record.key,
        "checkpoint_id": str(value["question"]),
        "kind": "call",
        "task": "",
        "tool": str(value["tool"]),
        "intent": None,
        "title": "",
        "arguments": value["arguments"],
        "code": None,
        "reason": str(value["reason"]),
        "only_human": True,
        "asked_by": asked_by(cast("dict[str, object]", value["caller"]))
        + (" in code" if value["door"] == "code" else ""),
        "before": value["before"],
        "form": value.get("form"),
        "since": value["since"],
        "next": [],
    }


def _event_fields(record: Record) -> JsonObject:
    """The fields of the question in an event."""
    value = record.value
    return {
        "workflow": record.key,
        "checkpoint": value["question"],
        "waits_for": "call",
        "task": None,
        "tool": value["tool"],
        "arguments": argument_sizes(cast("dict[str, object]", value["arguments"])),
        "only_person": True,
        "asked_by": asked_by(cast("dict[str, object]", value["caller"])),
    }
