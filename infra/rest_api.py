"""The regional REST API in front of the gateway function."""

import json

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_lambda as lambda_

from infra import defaults
from infra.acknowledged import acknowledge
from infra.stage import Stage

# Never the query string: a client that can send no header shows its API key there.
LOGGED = {
    "time": "$context.requestTime",
    "request": "$context.requestId",
    "address": "$context.identity.sourceIp",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "status": "$context.status",
    "bytes": "$context.responseLength",
    "ms": "$context.responseLatency",
    "integration_ms": "$context.integrationLatency",
    "integration_status": "$context.integrationStatus",
    "error": "$context.error.responseType",
    "firewall": "$context.waf.status",
}


def rest_api(stack: Stack, stage: Stage) -> apigateway.RestApi:
    """The API, so far without a method; it knows its own address before there is a function to call."""
    log = defaults.log_group(stack, "AccessLog", stage)
    api = apigateway.RestApi(
        stack,
        "Api",
        rest_api_name=stage.prefix,
        description="Loci",
        endpoint_types=[apigateway.EndpointType.REGIONAL],
        # One role for all APIs of an account and region: without any, a stage with a log cannot be made. It stays
        # when the stack goes, as other APIs may have come to need it.
        cloud_watch_role=stage.account_log_role,
        cloud_watch_role_removal_policy=RemovalPolicy.RETAIN if stage.account_log_role else None,
        deploy_options=apigateway.StageOptions(
            stage_name=stage.name,
            throttling_rate_limit=stage.throttle.rate,
            throttling_burst_limit=stage.throttle.burst,
            access_log_destination=apigateway.LogGroupLogDestination(log),
            access_log_format=apigateway.AccessLogFormat.custom(json.dumps(LOGGED)),
            # The execution log quotes headers and query strings.
            logging_level=apigateway.MethodLoggingLevel.OFF,
            metrics_enabled=False,  # by method, at a price; those by API come without
        ),
    )
    api.node.try_remove_child("Endpoint")  # an output of its own, which lacks the endpoint's path
    acknowledge(
        api,
        {
            "AwsSolutions-APIG2": "Loci checks each message itself, and answers as MCP asks",
            "AwsSolutions-APIG6": "The execution log quotes headers and query strings, which may hold an API key",
            "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/"
            "AmazonAPIGatewayPushToCloudWatchLogs]": "What API Gateway asks of its account-wide role for logs",
        },
    )
    return api


def address(stack: Stack, api: apigateway.RestApi) -> str:
    """The API's host name.

    Built of the API's id: a reference to its stage would lead through the methods back to the function, which has to
    know this address.
    """
    return f"{api.rest_api_id}.execute-api.{stack.region}.{stack.url_suffix}"


def route_everything(api: apigateway.RestApi, function: lambda_.IFunction, stage: Stage) -> None:
    """Send each request, whatever its path and method, to the function."""
    integration = apigateway.LambdaIntegration(
        function,
        # Above 29 s the account needs a raised quota (and gives up some of its throttle quota for it).
        timeout=Duration.seconds(stage.gateway.timeout_s),
        allow_test_invoke=False,
    )
    for resource in (api.root, api.root.add_resource("{proxy+}")):
        method = resource.add_method("ANY", integration)
        authorised = "Loci checks keys and tokens itself: an authorizer cannot send the challenge that MCP asks for"
        acknowledge(method, {"AwsSolutions-APIG4": authorised, "AwsSolutions-COG4": authorised})
