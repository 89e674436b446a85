"""The stack `ingest`: the function that turns uploads into documents. The queue calls it."""

from aws_cdk import Stack
from constructs import Construct

from infra import defaults, language, reach
from infra.stacks.data import Data
from infra.stage import Stage
from infra.uploads import aside_name, queue_name
from layers.build import Layers
from loci.core.storage_keys import UPLOADS_A_CALL


class Ingest(Stack):
    """A separate stack from the gateway, so that a change of one does not deploy the other."""

    def __init__(self, scope: Construct, stage: Stage, folders: Layers, data: Data) -> None:
        super().__init__(scope, f"{stage.prefix}-ingest", description="Loci: ingests uploads")
        queue = self.format_arn(service="sqs", resource=queue_name(stage))
        aside = self.format_arn(service="sqs", resource=aside_name(stage))
        receive = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"]
        aside_url = f"https://sqs.{self.region}.{self.url_suffix}/{self.account}/{aside_name(stage)}"
        function = defaults.function(
            self,
            "ingest",
            stage,
            size=stage.ingest,
            layers=defaults.loci_layers(self, stage, folders),
            settings={**reach.settings_of(self, stage, data), "aside_queue": aside_url},
            may=[
                *reach.permissions_to_ingest(self, stage, data),
                *language.permissions(self, stage),
                defaults.allow(receive, [queue]),
                defaults.allow(["sqs:SendMessage"], [queue, aside]),
            ],
            description="Ingests the uploads of Loci",
        )
        function.add_event_source_mapping(
            "Uploads",
            event_source_arn=queue,
            batch_size=UPLOADS_A_CALL,
            max_concurrency=stage.ingest.at_once,
            report_batch_item_failures=True,
        )
