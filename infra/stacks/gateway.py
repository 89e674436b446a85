"""The stack `gateway`: the function, the API in front of it, the firewall, and CloudFront if the stage has `edge`."""

from aws_cdk import CfnOutput, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager
from constructs import Construct

from infra import defaults, runs, tool_calls, workflow_runs
from infra.acknowledged import acknowledge
from infra.distribution import ADDRESS_HEADER, distribution
from infra.firewall import protect
from infra.rest_api import address, rest_api, route_everything
from infra.stacks.data import Data
from infra.stage import Stage
from layers.build import Layers
from loci.core.storage_keys import UPLOADS_OF_LOCAL

ORIGIN_SECRET_LENGTH = 40


class Gateway(Stack):
    """Everything between a client and Loci's data."""

    def __init__(self, scope: Construct, stage: Stage, folders: Layers, data: Data) -> None:
        super().__init__(scope, f"{stage.prefix}-gateway", description="Loci: the MCP endpoint")
        api = rest_api(self, stage)
        self.api_id = api.rest_api_id
        host = address(self, api)
        public_url = f"https://{host}/{stage.name}"
        origin_secret: str | None = None
        if stage.edge:
            origin_secret = _origin_secret(self)
            edge = distribution(self, stage, host, origin_secret)
            public_url = f"https://{stage.domain or edge.distribution_domain_name}"
            if stage.domain:
                CfnOutput(self, "PointDomainTo", value=edge.distribution_domain_name)
        function = _function(self, stage, folders, data, public_url)
        route_everything(api, function, stage)
        if stage.localstack:
            # LocalStack's API Gateway differs from AWS's, so the tests also call the function directly.
            url = function.add_function_url(auth_type=lambda_.FunctionUrlAuthType.NONE)
            CfnOutput(self, "FunctionUrl", value=url.url)
        protect(self, stage, api, origin_secret)
        CfnOutput(self, "Endpoint", value=f"{public_url}/mcp")
        with_key = '--header "Authorization: Bearer KEY"'
        CfnOutput(self, "Connect", value=f"claude mcp add --transport http loci {public_url}/mcp {with_key}")
        CfnOutput(self, "CreateKey", value=f"loci keys create --stack {self.stack_name}")
        CfnOutput(self, "Function", value=function.function_name)
        CfnOutput(self, "Table", value=data.table.table_name)
        CfnOutput(self, "Bucket", value=data.bucket.bucket_name)
        if stage.sandbox:
            CfnOutput(self, "ExecutorBucket", value=data.executors.bucket_name)
        if stage.searches:
            CfnOutput(self, "Upload", value=f"s3://{data.bucket.bucket_name}/{UPLOADS_OF_LOCAL}")


def _origin_secret(stack: Stack) -> str:
    """Return the secret that CloudFront shows the firewall, as a reference: no template contains its value."""
    secret = secretsmanager.Secret(
        stack,
        "OriginSecret",
        description="Proves to the firewall of Loci that a request came through CloudFront",
        generate_secret_string=secretsmanager.SecretStringGenerator(
            password_length=ORIGIN_SECRET_LENGTH, exclude_punctuation=True
        ),
    )
    reason = "CloudFront and the firewall read it only at a deployment, so a rotation would lock everybody out"
    acknowledge(secret, {"AwsSolutions-SMG4": reason})
    return secret.secret_value.unsafe_unwrap()


def _function(stack: Stack, stage: Stage, folders: Layers, data: Data, public_url: str) -> lambda_.IFunction:
    return defaults.function(
        stack,
        "gateway",
        stage,
        size=stage.gateway.model_copy(update={"timeout_s": stage.timeout_s("gateway")}),
        layers=defaults.loci_layers(stack, stage, folders),
        settings={
            **tool_calls.settings_of(stack, stage, data),
            **workflow_runs.settings_of(stack, stage),
            "public_url": public_url,
            **({"address_header": ADDRESS_HEADER} if stage.edge else {}),
        },
        may=[
            *tool_calls.permissions(stack, stage, data),
            *runs.sending(stack, stage, data),
            workflow_runs.starting(stack, stage),
            *_reading_the_issuer_secret(stage),
        ],
        description="Answers every MCP request of Loci",
    )


def _reading_the_issuer_secret(stage: Stage) -> list[iam.PolicyStatement]:
    """Allow to read the secret of Loci at the issuer where people sign in."""
    name = stage.settings.get("oidc_client_secret_from")
    return [defaults.allow(["secretsmanager:GetSecretValue"], [name])] if name else []
