"""The stack `inference`: a function that embeds and reranks, in a container image with its models."""

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import defaults
from infra.images import MODELS, RUNS, image
from infra.stage import InferenceSize, Stage

OF_MODELS = ("embedder", "reranker")
"""Settings that this function needs, too."""


class Inference(Stack):
    """A separate stack, because its image takes minutes to build and changes seldom."""

    def __init__(self, scope: Construct, stage: Stage, size: InferenceSize) -> None:
        super().__init__(scope, f"{stage.prefix}-inference", description="Loci: embeds and reranks")
        defaults.function(
            self,
            "inference",
            stage,
            size=size,
            image=_image(stage, size),
            settings={name: stage.settings[name] for name in OF_MODELS if name in stage.settings},
            may=[],
            description="Embeds and reranks for Loci",
        )


def _image(stage: Stage, size: InferenceSize) -> lambda_.AssetImageCode:
    arguments = {"MODELS": " ".join(size.models)}
    if hub := stage.settings.get("model_hub"):
        arguments["LOCI_MODEL_HUB"] = hub
    given = {name: value for name, value in arguments.items() if value}
    return image(stage, "inference", without=[*RUNS, *MODELS], arguments=given)
