"""The result of a tool as the server sent it."""

from pydantic import BaseModel, ConfigDict

from loci.core.json import JsonObject


class RawResult(BaseModel):
    """Takes any result, and changes nothing."""

    model_config = ConfigDict(extra="allow")

    def content(self) -> JsonObject:
        return dict(self.model_extra or {})
