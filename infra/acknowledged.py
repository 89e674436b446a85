"""The findings of cdk-nag that are accepted, each with its reason, beside the construct that has it."""

from collections.abc import Mapping

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Accept these findings in this construct and everything in it, by rule or by `Rule[finding]`."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=rule, reason=why) for rule, why in reasons.items()))
