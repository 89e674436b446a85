"""The tables of costs in `infra/README.md`: `python -m infra.cost_tables` renews them, without an AWS account."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from infra.costs import PRICES, Costs, Deployed, idle
from infra.costs_of_use import documents, files, pages, runs, searches, stored, tool_calls, workflows
from infra.node import use_packaged_node
from layers.build import Layers

HERE = Path(__file__).resolve().parent
README = HERE / "README.md"
BEGIN, END = "<!-- made by `make costs` -->\n", "<!-- end -->\n"
PROFILES = ("words", "solo", "dev", "prod")
NOTHING = "\N{EN DASH}"
TABLES: dict[str, Callable[[Deployed], Costs]] = {
    "idle, a month": idle,
    "1,000 searches": searches,
    "an open page, an hour": pages,
    "1,000 runs of code": runs,
    "1,000 calls of other servers' tools": tool_calls,
    "1,000 workflows of 5 such calls": workflows,
    "1,000 documents, once": documents,
    "1,000 documents, each month": stored,
    "1,000 files, once": files,
}


def tables(profiles: Mapping[str, Deployed]) -> str:
    """Return the tables, with a column for each profile."""
    made = [_table(title, {name: costs(one) for name, one in profiles.items()}) for title, costs in TABLES.items()]
    return "\n".join([f"The prices are those of {PRICES['date']}.\n", *made])


def with_tables(readme: str, made: str) -> str:
    """Return the text with these tables in the place of those that it has."""
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n{made}\n{END}{rest.partition(END)[2]}"


def _table(title: str, by_profile: Mapping[str, Costs]) -> str:
    digits = 2 if title.startswith("idle") else 4
    largest = {
        what: max(costs.get(what, 0) for costs in by_profile.values()) for one in by_profile.values() for what in one
    }
    rows = sorted(largest, key=lambda what: (-largest[what], what))
    lines = [f"| {title} | {' | '.join(f'`{name}`' for name in by_profile)} |", f"|---|{'---|' * len(by_profile)}"]
    lines += [
        f"| {what} | {' | '.join(_shown(costs.get(what), digits) for costs in by_profile.values())} |" for what in rows
    ]
    sums = (f"**${sum(costs.values()):.{digits}f}**" if costs else NOTHING for costs in by_profile.values())
    return "\n".join([*lines, f"| **sum** | {' | '.join(sums)} |"]) + "\n"


def _shown(amount: float | None, digits: int) -> str:
    if amount is None:
        return NOTHING
    smallest = 10**-digits
    return f"< {smallest:.{digits}f}" if 0 < amount < smallest / 2 else f"{amount:.{digits}f}"


def deployed(stage: str) -> Deployed:
    """Synthesise the stage with empty layers: they cost nothing."""
    use_packaged_node()
    from aws_cdk import App  # starts Node

    from infra.app import define

    context: dict[str, Any] = json.loads((HERE.parent / "cdk.json").read_text("utf-8"))["context"]
    with TemporaryDirectory() as folder:
        empty = Path(folder) / "layer"
        (empty / "python").mkdir(parents=True)
        (empty / "python" / "nothing.py").write_text("")
        quiet = {"@aws-cdk/core:annotationsInValidationReport": False}  # a deployment warns, not what it costs
        app = App(context={**context, **quiet, "stage": stage}, outdir=f"{folder}/out")
        define(app, lambda _, model: Layers(empty, empty, empty if model else None))
        app.synth()
        return Deployed.by(json.loads(file.read_text("utf-8")) for file in Path(folder).glob("out/*.template.json"))


def main() -> None:
    """Renew the tables, and print them."""
    made = tables({stage: deployed(stage) for stage in PROFILES})
    README.write_text(with_tables(README.read_text("utf-8"), made), "utf-8")
    print(made)


if __name__ == "__main__":
    main()
