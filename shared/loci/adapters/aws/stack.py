"""Reads the settings of a deployment from its CloudFormation stack."""

from loci.adapters.aws.clients import Clients, code_of, explained
from loci.core.errors import NotFound

OUTPUTS = {"Table": "table", "Bucket": "bucket"}


def settings_of(stack: str, clients: Clients) -> dict[str, object]:
    """The settings in the outputs of the gateway's stack."""
    from botocore.exceptions import ClientError

    with explained("CloudFormation", f"the stack {stack}", {"AccessDenied": "Use credentials that may describe it"}):
        try:
            [found] = clients.cloudformation.describe_stacks(StackName=stack)["Stacks"]
        except ClientError as error:
            if code_of(error) != "ValidationError":
                raise
            raise _unknown(f"There is no stack {stack} in this region") from None
    outputs = {output.get("OutputKey"): output.get("OutputValue") for output in found.get("Outputs", [])}
    if not outputs.keys() >= OUTPUTS.keys():
        raise _unknown(f"The stack {stack} is not the gateway of a Loci")
    return {"mode": "aws", **{field: outputs[name] for name, field in OUTPUTS.items()}}


def _unknown(what: str) -> NotFound:
    advice = "Name the stack that ends in -gateway. AWS_REGION and AWS_PROFILE select the account"
    return NotFound(what, advice, code="STACK_NOT_FOUND")
