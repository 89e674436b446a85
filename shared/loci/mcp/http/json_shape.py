"""The limits of JSON in a request: checked before anything parses it."""

from loci.core.json_shape import shape_fault
from loci.mcp.http.refusal import Refusal, not_json

DEEPEST = 100
MOST_MEMBERS = 100_000
"""Members of all objects and elements of all arrays together. So many take the server's loop a quarter of a second."""


def check_shape(raw: bytes) -> None:
    """Refuse JSON that would take long to parse and to validate. What is no JSON may pass: the parser refuses it."""
    match shape_fault(raw, MOST_MEMBERS, DEEPEST):
        case "too deep":
            raise too_deep()
        case "too many":
            raise Refusal(413, f"The body has more than {MOST_MEMBERS} members; send less, or send the data as text")
        case None:
            pass


def too_deep() -> Refusal:
    """The refusal of a body that is nested too deeply."""
    return not_json(f"the body is nested deeper than {DEEPEST} levels")
