"""`loci doctor`: what works, what does not, and what to do about it."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from loci.cli.terminal import ConfigOption, DataOption, JsonOption, printable

STATE_WIDTH, NAME_WIDTH = 9, 12


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Repair what can be repaired without data loss.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check everything that Loci relies on.

    That is the settings, the data folder, the models, the sandboxes, the index and the documents. The exit code is 1
    if there is a fault.
    """
    from loci.compose import build_app, check_database, count_signing_secrets  # slow to load, and `--help` needs none
    from loci.core.finding import counted
    from loci.doctor.examine import Openers, examine

    openers = Openers(build_app, check_database, count_signing_secrets)
    counts: Counter[str] = Counter()
    findings: list[dict[str, object]] = []
    for one in examine({"data": data}, config, openers, fix=fix):
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


def _lines(state: str, name: str, what: str, advice: str | None) -> Iterator[str]:
    yield f"{state:<{STATE_WIDTH}}{printable(name):<{NAME_WIDTH}} {printable(what)}"
    if advice is not None:
        yield " " * (STATE_WIDTH + NAME_WIDTH + 1) + printable(advice)
