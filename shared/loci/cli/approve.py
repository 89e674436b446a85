"""`loci approve`: a person answers the checkpoints at which workflows wait."""

import json
from typing import Annotated, Any, cast

import typer

from loci.cli.terminal import ConfigOption, DataOption, JsonOption, open_app, printable
from loci.core.errors import NotFound, Refused
from loci.core.identity import LOCAL, Owner
from loci.core.json import JsonObject
from loci.core.settings import Settings
from loci.workflows.api import Workflows
from loci.workflows.run import status_said


def approve(
    id: Annotated[
        str | None, typer.Argument(help="The workflow, such as wf_0123…. Without it, those that wait are listed.")
    ] = None,
    reject: Annotated[bool, typer.Option("--reject", help="Reject the step: it does not run.")] = False,
    feedback: Annotated[str | None, typer.Option(help="A comment, kept with the decision.", show_default=False)] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask again before the step runs.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Approve the step at which a workflow waits, or list the workflows that wait."""
    app = open_app(data, config, _embedded)
    app.workflows.wait_for_ends()
    try:
        if id is None:
            _list(app.workflows.waiting(LOCAL), as_json=as_json)
            return
        answer = _answer(app.workflows, LOCAL, id, reject=reject, feedback=feedback, yes=yes or as_json)
        typer.echo(json.dumps(answer) if as_json else printable(f"{id} {status_said(str(answer['status']))}"))
    finally:
        app.close()


def _answer(
    workflows: Workflows, owner: Owner, id: str, *, reject: bool, feedback: str | None, yes: bool
) -> JsonObject:
    run = workflows.status(owner, id)
    checkpoint = run.get("checkpoint_id")
    if not isinstance(checkpoint, str):
        what = f"Workflow {id} waits for nothing: it {status_said(str(run['status']))}"
        raise NotFound(what, "List those that wait: loci approve")
    if not reject and not yes:
        for line in _told(id, run):
            typer.echo(printable(line))
        typer.confirm("Approve?", abort=True)
    return workflows.decide(owner, id, checkpoint, approved=not reject, feedback=feedback, by_person=True)


def _list(waiting: dict[str, JsonObject], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps([*waiting.values()]))
        return
    for id, run in waiting.items():
        for line in _told(id, run):
            typer.echo(printable(line))
    if not waiting:
        typer.echo("No workflow waits for an answer.")


def _told(id: str, run: JsonObject) -> list[str]:
    asked = cast("dict[str, Any]", run.get("checkpoint") or {})
    if not asked:
        return [f"{id}  layer {run.get('current_layer')} of {run.get('total_layers')} has ended"]
    arguments = json.dumps(asked["arguments"], ensure_ascii=False)
    code = [f"  {line}" for line in str(asked.get("code", "")).splitlines()]
    return [f"{id}  {asked['task']} wants to call {asked['tool']}: {asked['reason']}", f"  {arguments}", *code]


def _embedded(settings: Settings) -> None:
    if settings.mode != "embedded":
        raise Refused("These are the settings of a deployment on AWS", "Open the link that the workflow's answer has")
