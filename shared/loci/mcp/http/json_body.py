"""The body of a request at a route beside the endpoints, as JSON of one shape."""

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from loci.mcp.http.json_shape import check_shape
from loci.mcp.http.refusal import Refusal

M = TypeVar("M", bound=BaseModel)


def parsed_body(model: type[M], raw: bytes) -> M:
    """Read the body. Raises `Refusal` that names the first field that is wrong."""
    check_shape(raw)
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, fault["loc"])) or "the body"
        raise Refusal(400, f"{where}: {fault['msg']}") from None
