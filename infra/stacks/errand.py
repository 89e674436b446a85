"""The stack `errand`: the function that drives runs of code. The gateway sends it each run without waiting for it."""

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import defaults, runs, tool_calls
from infra.stacks.data import Data
from infra.stage import SandboxSize, Stage
from layers.build import Layers


class Errand(Stack):
    """A function of its own: a run takes minutes and a request seconds, and their concurrency is limited apart."""

    def __init__(
        self,
        scope: Construct,
        stage: Stage,
        folders: Layers,
        data: Data,
        sandbox: SandboxSize,
        workflow: lambda_.IFunction,
    ) -> None:
        super().__init__(scope, f"{stage.prefix}-errand", description="Loci: drives runs of callers' code")
        function = defaults.function(
            self,
            runs.ERRAND,
            stage,
            size=stage.errand,
            layers=defaults.loci_layers(self, stage, folders),
            settings=tool_calls.settings_of(self, stage, data),
            may=[
                *tool_calls.permissions(self, stage, data),
                *runs.driving(self, stage, data, sandbox),
            ],
            description="Drives runs of code for Loci, and answers their tool calls",
        )
        runs.serve_runs(self, stage, data, function, workflow)
