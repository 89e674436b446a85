"""`loci doctor`: check what works, and say what to do about what does not."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from loci.cli.destination import endpoint_url
from loci.cli.terminal import ConfigOption, DataOption, JsonOption, KeyOption, printable, shown_progress, value
from loci.core.errors import Refused

if TYPE_CHECKING:
    from loci.core.diagnosis import Finding
    from loci.documents.ingest.index_writer import Progress

STATE_WIDTH, NAME_WIDTH = 9, 12


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Repair what can be repaired without data loss.")] = False,
    stack: Annotated[
        str | None,
        value("Check a deployment on AWS. NAME is its gateway stack, such as loci-dev-gateway.", "--stack", "NAME"),
    ] = None,
    url: Annotated[
        str | None,
        value(
            "Check this endpoint, such as https://loci.example.com/mcp, as a client does: its answer, its"
            " tools, and its sign-in. Say which step fails, and why.",
            "--url",
            "URL",
        ),
    ] = None,
    key: KeyOption = None,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Read every text and file that Loci stores, and compare it with its hash."),
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check everything that Loci relies on.

    That is the settings, the data folder, the models, the sandboxes, the index and the documents. The exit code is 1
    if there is a fault.
    """
    if stack is not None and (data or config):
        raise Refused("A stack has no data folder", "Give --stack, or --data and --config, not both")
    if url is None and key:
        raise Refused("--key is for --url", "Give --url, too")
    if url is not None and (stack or data or config or fix or deep):
        advice = "Give --url without --stack, --data, --config, --fix and --deep"
        raise Refused("An endpoint is checked from outside", advice)
    if url is not None:
        from loci.doctor.endpoint import check_endpoint  # slow to load, and `--help` does not need it

        _show(check_endpoint(endpoint_url(url), key or os.environ.get("LOCI_KEY")), as_json=as_json)
        return
    with shown_progress() if deep else nullcontext() as progress:
        _show(_stored(data, config, stack, progress, fix=fix), as_json=as_json)


def _stored(
    data: Path | None, config: Path | None, stack: str | None, deep: "Progress | None", *, fix: bool
) -> "Iterator[Finding]":
    # Slow to load, and `--help` needs none of it.
    from loci.compose import build_app, count_signing_secrets, mend_all
    from loci.core.diagnosis import run_check
    from loci.doctor.examine import Openers, examine
    from loci.runtimes.local import check_database

    openers = Openers(build_app, check_database, mend_all, count_signing_secrets)
    given: dict[str, object] = {"data": data}
    if stack is not None:
        from loci.runtimes.aws import settings_of_stack

        given = settings_of_stack(stack).model_dump(exclude_unset=True)
    for one in examine(given, config, openers, fix=fix, deep=deep):
        yield one if stack is None else _for_stack(one, stack)
    if stack is not None:
        from loci.runtimes.aws import check_alarms

        yield from run_check("alarms", lambda: check_alarms(stack))


def _show(found: "Iterable[Finding]", *, as_json: bool) -> None:
    from loci.core.diagnosis import counted

    counts: Counter[str] = Counter()
    findings: list[dict[str, object]] = []
    for one in found:
        counts[one.state] += 1
        findings.append(asdict(one))
        if not as_json:
            typer.echo("\n".join(_lines(one.state, one.name, one.what, one.advice)))
    if as_json:
        typer.echo(json.dumps({"ok": counts["fault"] == 0, "findings": findings}))
    else:
        typer.echo(f"{counts['ok']} ok, {counted(counts['warning'], 'warning')}, {counted(counts['fault'], 'fault')}.")
    if counts["fault"]:
        raise typer.Exit(1)


def _for_stack(finding: "Finding", stack: str) -> "Finding":
    """Add the stack to the commands in the finding's advice."""
    advice = re.sub(r"\bloci (doctor|reindex)\b", rf"loci \1 --stack {stack}", finding.advice or "")
    return replace(finding, advice=advice or None)


def _lines(state: str, name: str, what: str, advice: str | None) -> Iterator[str]:
    yield f"{state:<{STATE_WIDTH}}{printable(name):<{NAME_WIDTH}} {printable(what)}"
    if advice is not None:
        yield " " * (STATE_WIDTH + NAME_WIDTH + 1) + printable(advice)
