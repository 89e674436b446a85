"""The stacks of a stage, synthesised in this process without an AWS account, credentials or the real layers."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.app import define
from infra.stage import Stage, read_stage
from layers.build import Layers
from tests.infra.template import Template

if TYPE_CHECKING:
    from aws_cdk import App

CONTEXT: dict[str, Any] = json.loads((Path(__file__).resolve().parents[2] / "cdk.json").read_text("utf-8"))["context"]
STAGES: dict[str, dict[str, Any]] = CONTEXT["stages"]


@dataclass(frozen=True, slots=True)
class Stacks:
    """What a stage comes to."""

    stage: Stage
    templates: Mapping[str, Template]

    @property
    def data(self) -> Template:
        return self.templates["data"]

    @property
    def gateway(self) -> Template:
        return self.templates["gateway"]

    @property
    def connect(self) -> Template:
        return self.templates["connect"]

    @property
    def errand(self) -> Template:
        return self.templates["errand"]

    @property
    def workflows(self) -> Template:
        return self.templates["workflows"]

    @property
    def ingest(self) -> Template:
        return self.templates["ingest"]

    @property
    def inference(self) -> Template:
        return self.templates["inference"]

    @property
    def sandbox(self) -> Template:
        return self.templates["sandbox"]

    @property
    def operations(self) -> Template:
        return self.templates["operations"]


class Refused(Exception):
    """What the CDK, or cdk-nag in it, has against the stacks."""


def synthesise(
    folder: Path, name: str, changes: Mapping[str, object], also: Callable[["App"], None] = lambda _: None
) -> Stacks:
    """The stage of `cdk.json`, changed. The second in a process takes half a second."""
    from aws_cdk import App  # starts Node

    said = {**STAGES[name], **changes}
    stages = {**STAGES, name: said}
    app = App(context={**CONTEXT, "stage": name, "stages": stages}, outdir=str(assembly(folder)))
    try:
        define(app, lambda _, model: _stand_ins(folder, model))
        also(app)
        app.synth()
    except RuntimeError as error:
        # Without its traceback: pytest would take a quarter of a minute to quote the CDK's sources.
        raise Refused(str(error)) from None
    stage = read_stage(name, stages)
    files = {file.name.removesuffix(".template.json"): file for file in assembly(folder).glob("*.template.json")}
    found = {name: json.loads(file.read_text("utf-8")) for name, file in files.items()}
    exports = {name: value for template in found.values() for name, value in _exports(template)}
    return Stacks(
        stage,
        {name.removeprefix(f"{stage.prefix}-"): Template(template, exports) for name, template in found.items()},
    )


def assembly(folder: Path) -> Path:
    """Where the CDK puts what it synthesises in the folder."""
    return folder / "out"


def _exports(template: Mapping[str, Any]) -> list[tuple[str, object]]:
    outputs: list[Mapping[str, Any]] = list(template.get("Outputs", {}).values())
    exported = [(output["Export"]["Name"], output["Value"]) for output in outputs if "Export" in output]
    stored = [one["Properties"] for one in template["Resources"].values() if one["Type"] == "AWS::SSM::Parameter"]
    return exported + [(one["Name"], one["Value"]) for one in stored]


def _stand_ins(folder: Path, model: str | None) -> Layers:
    """Layers with nothing of ours in them: the real ones take the network and half a minute."""
    layers = Layers(folder / "dependencies", folder / "product", folder / "model" if model else None)
    for layer in filter(None, (layers.dependencies, layers.product, layers.model)):
        (layer / "python").mkdir(parents=True)
        (layer / "python" / f"{layer.name}.py").write_text("", encoding="utf-8")
    return layers
