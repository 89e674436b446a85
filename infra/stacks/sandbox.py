"""The stack `sandbox`: the functions that run callers' code, a virtual machine without rights for each tenant."""

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.images import INFERENCE, PROGRAMS, RUNS, image
from infra.isolated import isolated
from infra.stacks.data import Data
from infra.stage import SandboxSize, Stage

DESCRIPTIONS = {"run_python": "Runs callers' Python for Loci", "run_deno": "Runs callers' TypeScript for Loci"}


class Sandbox(Stack):
    """The machine is the wall. Loci does not trust anything that comes out of it."""

    def __init__(self, scope: Construct, stage: Stage, data: Data, size: SandboxSize) -> None:
        super().__init__(scope, f"{stage.prefix}-sandbox", description="Loci: runs callers' code")
        place = isolated(self, stage, data)
        for name, of_function in size.functions.items():
            place.container(name, size=of_function, image=_image(stage, name), description=DESCRIPTIONS[name])


def _image(stage: Stage, name: str) -> lambda_.AssetImageCode:
    others = [path for path in RUNS if path not in _files(name)]
    return image(stage, name, without=[*INFERENCE, *others, *PROGRAMS])


def _files(name: str) -> tuple[str, ...]:
    lock = "runner" if name == "run_python" else "deno"
    return f"functions/{name}", f"requirements/{lock}.lock"
