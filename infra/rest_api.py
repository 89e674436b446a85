"""The regional REST API in front of the gateway function."""

import json

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_lambda as lambda_

from infra import defaults
from infra.acknowledged import acknowledge
from infra.stage import Stage

# Never the query string: a client that cannot send headers puts its API key there.
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
    """Create the API, without methods: the function needs the API's address before it exists."""
    log = defaults.log_group(stack, "AccessLog", stage)
    api = apigateway.RestApi(
        stack,
        "Api",
        rest_api_name=stage.prefix,
        description="Loci",
        endpoint_types=[apigateway.EndpointType.REGIONAL],
        # All APIs of an account and region share one role. A stage with a log needs it. It stays when the stack is
        # deleted, because other APIs may need it by then.
        cloud_watch_role=stage.account_log_role,
        cloud_watch_role_removal_policy=RemovalPolicy.RETAIN if stage.account_log_role else None,
        deploy_options=apigateway.StageOptions(
            stage_name=stage.name,
            throttling_rate_limit=stage.throttle.rate,
            throttling_burst_limit=stage.throttle.burst,
            access_log_destination=apigateway.LogGroupLogDestination(log),
            access_log_format=apigateway.AccessLogFormat.custom(json.dumps(LOGGED)),
            # The execution log contains headers and query strings.
            logging_level=apigateway.MethodLoggingLevel.OFF,
            metrics_enabled=False,  # metrics by method cost money; those of the API do not need this
        ),
    )
    _let_pages_read_refusals(api)
    api.node.try_remove_child("Endpoint")  # the CDK's own output lacks the path of the endpoint
    acknowledge(
        api,
        {
            "AwsSolutions-APIG2": "Loci checks each message itself, and answers as MCP requires",
            "AwsSolutions-APIG6": "The execution log contains headers and query strings, which may contain an API key",
            "AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/"
            "AmazonAPIGatewayPushToCloudWatchLogs]": "API Gateway requires this policy for its account-wide log role",
        },
    )
    return api


def _let_pages_read_refusals(api: apigateway.RestApi) -> None:
    """Let pages of any origin see what API Gateway answers itself, as when it throttles: it tells nobody's data.

    Otherwise a page sees a failure of the network. Such an answer cannot depend on the allowed origins.
    """
    kinds = {"Refused": apigateway.ResponseType.DEFAULT_4_XX, "Failed": apigateway.ResponseType.DEFAULT_5_XX}
    for name, kind in kinds.items():
        api.add_gateway_response(
            name,
            type=kind,
            response_headers={
                "Access-Control-Allow-Origin": "'*'",
                "Access-Control-Expose-Headers": "'WWW-Authenticate, Retry-After, x-amzn-ErrorType, x-amzn-RequestId'",
            },
        )


def address(stack: Stack, api: apigateway.RestApi) -> str:
    """Return the API's host name.

    It is built from the API's id: a reference to the stage would lead through the methods back to the function, which
    needs this address.
    """
    return f"{api.rest_api_id}.execute-api.{stack.region}.{stack.url_suffix}"


def route_everything(api: apigateway.RestApi, function: lambda_.IFunction, stage: Stage) -> None:
    """Send each request, whatever its path and method, to the function."""
    integration = apigateway.LambdaIntegration(
        function,
        # Above 29 s the account needs a higher quota, and gives up some of its throttle quota for it.
        timeout=Duration.seconds(stage.gateway.timeout_s),
        allow_test_invoke=False,
    )
    for resource in (api.root, api.root.add_resource("{proxy+}")):
        method = resource.add_method("ANY", integration)
        authorised = "Loci checks keys and tokens itself: an authorizer cannot send the challenge that MCP requires"
        acknowledge(method, {"AwsSolutions-APIG4": authorised, "AwsSolutions-COG4": authorised})
