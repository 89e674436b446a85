"""The stack `connect`: the function that reaches tool servers. It is in no network of yours."""

from aws_cdk import Stack
from constructs import Construct

from infra import defaults, tool_servers
from infra.stacks.data import Data
from infra.stage import Stage
from layers.build import Layers


class Connect(Stack):
    """A function of its own: what talks to strangers' servers has no right that they could misuse."""

    def __init__(self, scope: Construct, stage: Stage, folders: Layers, data: Data) -> None:
        super().__init__(scope, f"{stage.prefix}-connect", description="Loci: reaches tool servers")
        function = defaults.function(
            self,
            tool_servers.CONNECT,
            stage,
            size=stage.connect,
            layers=defaults.loci_layers(self, stage, folders),
            settings={
                "mode": "aws",
                "auth": "required",
                "log_level": stage.log_level,
                "table": data.table.table_name,
                "bucket": data.bucket.bucket_name,
                "secret_key": data.key.key_arn,
                **({"tool_functions": ",".join(stage.tool_functions)} if stage.tool_functions else {}),
            },
            may=tool_servers.connecting(self, stage, data),
            description="Reaches the tool servers of Loci's owners",
        )
        tool_servers.ask_once(function)
