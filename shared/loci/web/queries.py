"""Numbers in the query of a request."""

from starlette.requests import Request


def number_in(request: Request, name: str) -> int | None:
    """A number in the query; None if there is none."""
    given = request.query_params.get(name, "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else None
