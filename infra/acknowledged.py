"""Findings of cdk-nag that stay, each with its reason, beside what they were found in."""

from collections.abc import Mapping

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def acknowledge(construct: IConstruct, reasons: Mapping[str, str]) -> None:
    """Let these findings in this construct, and in what lies within it, pass: by rule, or `Rule[finding]`."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=rule, reason=why) for rule, why in reasons.items()))
