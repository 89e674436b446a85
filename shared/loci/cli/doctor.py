"""`loci doctor`: what is well, what is not, and what to do."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

import typer

from loci.cli.options import ConfigOption, DataOption, JsonOption
from loci.cli.terminal import printable

STATE, NAME = 9, 12


def doctor(
    fix: Annotated[bool, typer.Option("--fix", help="Put right what can be without losing anything.")] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check settings, data folder, models, index and documents. The exit code is 1 where something is at fault."""
    from loci.compose import build_app, checked_database, signing_secrets  # help answers at once
    from loci.core.finding import counted
    from loci.doctor.examine import Openers, examine

    openers = Openers(build_app, checked_database, signing_secrets)
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
    yield f"{state:<{STATE}}{printable(name):<{NAME}} {printable(what)}"
    if advice is not None:
        yield " " * (STATE + NAME + 1) + printable(advice)
