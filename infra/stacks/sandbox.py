"""The stack `sandbox`: the functions that run callers' code and parsers, a virtual machine without rights each."""

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.images import INFERENCE, PROGRAMS, READERS, RUNS, image
from infra.isolated import isolated
from infra.stacks.data import Data
from infra.stage import Stage

DESCRIPTIONS = {
    "run_python": "Runs callers' Python for Loci",
    "run_deno": "Runs callers' TypeScript for Loci",
    "extract": "Reads callers' files for Loci",
}
LOCKS = {"run_python": "runner", "run_deno": "deno", "extract": "readers"}
STORAGE_MB = {"extract": 2048, "run_python": 4096}
"""Room in /tmp, if a function needs more than the 512 MB that each has.

A file to read has a gigabyte at most. An executor keeps the stored files that its runs opened, of 256 MB each at most,
beside its work folder; a gigabyte more costs a hundredth of a cent for an hour of runs.
"""


class Sandbox(Stack):
    """The machine is the wall. Loci does not trust anything that comes out of it."""

    def __init__(self, scope: Construct, stage: Stage, data: Data) -> None:
        super().__init__(scope, f"{stage.prefix}-sandbox", description="Loci: runs callers' code, and reads files")
        place = isolated(self, stage, data)
        for name, size in stage.isolated.items():
            place.container(
                name,
                size=size,
                image=_image(stage, name),
                description=DESCRIPTIONS[name],
                storage_mb=STORAGE_MB.get(name),
            )


def _image(stage: Stage, name: str) -> lambda_.AssetImageCode:
    own = (f"functions/{name}", f"requirements/{LOCKS[name]}.lock")
    others = [path for path in RUNS if path not in own]
    return image(stage, name, without=[*INFERENCE, *others, *PROGRAMS, *(READERS if name == "extract" else ())])
