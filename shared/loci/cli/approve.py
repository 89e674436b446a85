"""`loci approve`: a person answers the questions that workflows and calls wait for."""

import json
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from loci.auth.pins import no_pin, pins_of
from loci.cli.credentials import asked_pin, check_person
from loci.cli.terminal import ConfigOption, DataOption, JsonOption, here_only, open_app, printable, value
from loci.core.errors import NotFound
from loci.core.identity import LOCAL
from loci.core.json import Json, JsonObject
from loci.core.seen import visible
from loci.core.server_questions import choices_of
from loci.workflows.run import WITH_PIN, Answerer, status_text

if TYPE_CHECKING:
    from loci.app import App

LOOK_SECONDS = 0.25
"""Seconds between two checks for a new question."""


def approve(
    id: Annotated[
        str | None,
        typer.Argument(help="The workflow or call, such as wf_0123… or ap_0123…. Default: list the open questions."),
    ] = None,
    reject: Annotated[bool, typer.Option("--reject", help="Reject the step: it does not run.")] = False,
    feedback: Annotated[str | None, value("A comment, kept with the decision.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running, print each question as it arises, and ring the bell.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve a step of a workflow or a call that waits for you, or list the open questions. It asks for your PIN."""
    app = open_app(data, config, here_only("Open the link that the workflow's answer has"))
    app.workflows.wait_for_ends()
    try:
        if watch:
            _watch(app, as_json=as_json)
            return
        if id is None:
            _list(app.workflows.views.questions(LOCAL), as_json=as_json)
            return
        answer = _answer(app, id, reject=reject, feedback=feedback, yes=yes or as_json)
        typer.echo(json.dumps(answer) if as_json else printable(f"{id} {status_text(str(answer['status']))}"))
    finally:
        app.close()


def _answer(app: "App", id: str, *, reject: bool, feedback: str | None, yes: bool) -> JsonObject:
    workflows = app.workflows
    asked = next((one for one in workflows.views.questions(LOCAL) if one["workflow_id"] == id), None)
    if asked is None:
        raise NotFound(f"{printable(id)} waits for no answer", "List what waits: loci approve")
    if not reject and not yes:
        for line in _question_lines(asked):
            typer.echo(printable(visible(line)))
        if asked.get("form") is None:
            typer.confirm("Approve?", abort=True)
    given = None if reject else _fill_in(cast("dict[str, Any] | None", asked.get("form")))
    needs_proof = asked["only_human"] is True and not reject
    if needs_proof:
        check_person()
        pins = pins_of(app.settings, app.records)
        if not pins.is_set:
            raise no_pin()
        pins.check(asked_pin())
    by = Answerer(WITH_PIN if needs_proof else "somebody at the terminal", "terminal", is_person=needs_proof)
    question = str(asked["checkpoint_id"])
    return workflows.decide(LOCAL, id, question, approved=not reject, by=by, feedback=feedback, given=given)


def _fill_in(form: "dict[str, Any] | None") -> dict[str, list[str]] | None:
    """Have the person fill in the form of a server; None without a form."""
    if form is None:
        return None
    given: dict[str, list[str]] = {}
    for name, schema in form["properties"].items():
        choices = ", ".join(one for one, _ in choices_of(schema))
        told = [str(schema[word]) for word in ("title", "description") if schema.get(word)]
        question = f"{name}{f' ({choices})' if choices else ''}{': ' if told else ''}{'. '.join(told)}"
        typed = str(typer.prompt(printable(visible(question)), default="", show_default=False))
        given[name] = [one.strip() for one in typed.split(",")] if schema["type"] == "array" else [typed]
    return given


def _list(waiting: Sequence[JsonObject], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([*waiting]))
        return
    for one in waiting:
        for line in _question_lines(one):
            typer.echo(printable(visible(line)))
    if not waiting:
        typer.echo("Nothing waits for an answer.")


def _watch(app: "App", *, as_json: bool) -> None:
    """Print the open questions, then each new one with the bell, until Ctrl-C."""
    known: set[object] = set()

    def show() -> None:
        for one in app.workflows.views.questions(LOCAL):
            if one["checkpoint_id"] not in known:
                lines = [json.dumps(one)] if as_json else [printable(visible(line)) for line in _question_lines(one)]
                ring = "\a" if has_begun and sys.stdout.isatty() else ""
                print(ring + "\n".join(lines), flush=True)
                known.add(one["checkpoint_id"])

    def pause() -> None:
        nonlocal has_begun
        if not has_begun:  # from here on each new question comes as an event
            show()
            has_begun = True
        time.sleep(LOOK_SECONDS)

    has_begun = False
    with suppress(KeyboardInterrupt, BrokenPipeError):
        for _ in app.events.follow(LOCAL, {"approval"}, 0, pause):
            show()


def _question_lines(asked: JsonObject) -> list[str]:
    id = asked["workflow_id"]
    if asked["kind"] == "layer":
        following = ", ".join(map(str, cast("list[Json]", asked["next"])))
        return [f"{id}  A layer has ended; next: {following or 'the end'}"]
    what = "run code" if asked["code"] else f"call {asked['tool']}"
    who = asked["task"] or asked["asked_by"]
    title = [f"  It is for: {asked['title']}"] if asked["title"] else []
    code = [f"  {line}" for line in str(asked["code"] or "").splitlines()]
    who = f"{who} asks you something, to" if asked.get("form") else f"{who} wants to"
    arguments = json.dumps(asked["arguments"], ensure_ascii=False)
    return [f"{id}  {who} {what}: {asked['reason']}", *title, f"  {arguments}", *code]
