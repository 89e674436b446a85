"""A deployment on AWS by the name of its stack, for commands that ask its endpoint."""

from typing import Annotated

import typer

from loci.core.errors import Refused

StackOption = Annotated[
    str | None,
    typer.Option(
        "--stack",
        metavar="NAME",
        help="The Loci of a deployment on AWS, instead of its URL. NAME is its gateway stack, such as"
        " loci-dev-gateway. It needs a key, as the URL does.",
        show_default=False,
    ),
]


def url_or_stack(url: str | None, stack: str | None) -> str | None:
    """The URL that is given, or the endpoint of the stack; None without both."""
    if stack is None:
        return url
    if url is not None:
        raise Refused("A stack has a URL of its own", "Give --stack, or the URL, not both")
    from loci.stacks import endpoint_of_stack  # slow to load, and `--help` does not need it

    return endpoint_of_stack(stack)
