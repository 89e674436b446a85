"""Reads the settings of a deployment from its CloudFormation stack."""

from loci.adapters.aws.clients import Clients, error_code, translate_errors
from loci.core.errors import NotFound
from loci.core.settings import PREFIX, settings_by_name

OUTPUTS = {"Table": "table", "Bucket": "bucket"}
FUNCTION = "Function"
"""The output with the name of the gateway's function, whose variables have all settings of the deployment."""
ENDPOINT = "Endpoint"
"""The output with the URL of the MCP endpoint."""
GATEWAY, OPERATIONS = "-gateway", "-operations"
"""The ends of the names of two stacks of a stage."""
ALARM_TOPIC = "AlarmTopic"
OF_THE_FUNCTION = frozenset({"data", "models"})
"""Settings that name folders of the function's own machine."""
NO_MODELS = "/dev/null/models"
"""A folder that cannot exist. A deployment without a model must not get vectors from a model on this machine."""


def settings_of(stack: str, clients: Clients) -> dict[str, object]:
    """The settings in the outputs of the gateway's stack."""
    outputs = _outputs(stack, clients)
    return {"mode": "aws", **{field: outputs[name] for name, field in OUTPUTS.items()}}


def endpoint_of(stack: str, clients: Clients) -> str:
    """The URL of the MCP endpoint."""
    outputs = _outputs(stack, clients)
    if ENDPOINT not in outputs:
        raise _old(stack)
    return outputs[ENDPOINT]


def gateway_settings(stack: str, clients: Clients) -> dict[str, object]:
    """All settings of the gateway, from the environment of its function."""
    outputs = _outputs(stack, clients)
    if FUNCTION not in outputs:
        raise _old(stack)
    what, advice = f"the function {outputs[FUNCTION]}", "Use credentials that may do lambda:GetFunctionConfiguration"
    with translate_errors("Lambda", what, {"AccessDeniedException": advice}):
        found = clients.lambda_.get_function_configuration(FunctionName=outputs[FUNCTION])
    variables = found.get("Environment", {}).get("Variables", {})
    named = {name.removeprefix(PREFIX).lower(): value for name, value in variables.items() if name.startswith(PREFIX)}
    has_models = named.keys() & {"inference_function", "models"}
    known = named.keys() & settings_by_name().keys() - OF_THE_FUNCTION
    return {**{name: named[name] for name in known}, **({} if has_models else {"models": NO_MODELS})}


def alarm_subscribers(gateway: str, clients: Clients) -> int | None:
    """The number of confirmed subscribers to the alarms of the stage; None if it has no alarms."""
    try:
        topic = _all_outputs(f"{gateway.removesuffix(GATEWAY)}{OPERATIONS}", clients).get(ALARM_TOPIC)
    except NotFound:
        return None
    if topic is None:
        return None
    advice = "Use credentials that may do sns:ListSubscriptionsByTopic"
    with translate_errors("SNS", f"the topic {topic}", {"AuthorizationError": advice}):
        found = clients.sns(topic.split(":")[3]).list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    return sum(one["SubscriptionArn"].startswith("arn:") for one in found)


def _outputs(stack: str, clients: Clients) -> dict[str, str]:
    outputs = _all_outputs(stack, clients)
    if not outputs.keys() >= OUTPUTS.keys():
        raise _unknown(f"The stack {stack} is not the gateway of a Loci")
    return outputs


def _all_outputs(stack: str, clients: Clients) -> dict[str, str]:
    from botocore.exceptions import ClientError

    with translate_errors(
        "CloudFormation", f"the stack {stack}", {"AccessDenied": "Use credentials that may describe it"}
    ):
        try:
            [found] = clients.cloudformation.describe_stacks(StackName=stack)["Stacks"]
        except ClientError as error:
            if error_code(error) != "ValidationError":
                raise
            raise _unknown(f"There is no stack {stack} in {clients.cloudformation.meta.region_name}") from None
    return {output.get("OutputKey", ""): output.get("OutputValue", "") for output in found.get("Outputs", [])}


def _old(stack: str) -> NotFound:
    return NotFound(f"The stack {stack} is older than this Loci", "Deploy it again", code="STACK_OLD")


def _unknown(what: str) -> NotFound:
    advice = "Name the stack that ends in -gateway. AWS_PROFILE selects the account, and AWS_REGION the region"
    return NotFound(what, advice, code="STACK_NOT_FOUND")
