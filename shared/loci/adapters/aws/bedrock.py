"""`TextModel` on Amazon Bedrock's Converse: any model that can use tools, such as Claude, Nova or Mistral Large."""

import json

from pydantic import BaseModel, Field, ValidationError

from loci.adapters.aws.clients import Clients, translate_errors
from loci.core.errors import Unavailable
from loci.core.json import JsonObject
from loci.search.language_model import ModelAnswer, ModelText, refused, too_long, too_slow

RESOLUTIONS = {
    "AccessDeniedException": "Allow this role bedrock:InvokeModel on it, and the account its use",
    "ResourceNotFoundException": "Correct LOCI_LANGUAGE_MODEL, or use a region that has the model",
    "ThrottlingException": "Wait, or raise the account's quota of this model",
    "ValidationException": "Use a model that can use tools, by the id or the inference profile of this region",
}
REFUSED = ("guardrail_intervened", "content_filtered")
CUT = ("max_tokens", "model_context_window_exceeded")


class _ToolUse(BaseModel):
    input: object


class _ConversePart(BaseModel):
    text: str | None = None
    toolUse: _ToolUse | None = None  # noqa: N815 (AWS names it)


class _ConverseMessage(BaseModel):
    content: list[_ConversePart]


class _ConverseOutput(BaseModel):
    message: _ConverseMessage


class _ConverseUsage(BaseModel):
    totalTokens: int = Field(ge=0)  # noqa: N815


class _ConverseAnswer(BaseModel):
    output: _ConverseOutput
    stopReason: str  # noqa: N815
    usage: _ConverseUsage


class BedrockModel:
    """A model of Bedrock. It gives its answer as the argument of the only tool that it has."""

    def __init__(self, model: str, clients: Clients | None = None) -> None:
        self._model = model
        self._clients = clients or Clients()

    def write(self, prompt: str, schema: JsonObject, *, seconds: float, most_tokens: int) -> ModelAnswer:
        from botocore.exceptions import ReadTimeoutError  # with boto3, at the first call
        from botocore.parsers import ResponseParserError

        with translate_errors("Bedrock", f"the model {self._model}", RESOLUTIONS):
            try:
                response = self._clients.bedrock.converse(
                    modelId=self._model,
                    messages=[{"role": "user", "content": [{"text": prompt}]}],
                    inferenceConfig={"maxTokens": most_tokens},
                    toolConfig={
                        "tools": [
                            {
                                "toolSpec": {
                                    "name": "answer",
                                    "description": "Gives the answer.",
                                    "inputSchema": {"json": schema},
                                }
                            }
                        ],
                        "toolChoice": {"any": {}},
                    },
                )
            except ReadTimeoutError:
                return too_slow(seconds)
            # botocore 1.44 fails in each of these ways if the answer is not from AWS, but the page of a proxy.
            except (ResponseParserError, AttributeError, TypeError, ValueError):
                raise _not_converse() from None
        return _answer(response, most_tokens)

    def close(self) -> None:
        self._clients.close_bedrock()


def _answer(response: object, most_tokens: int) -> ModelAnswer:
    try:
        parsed = _ConverseAnswer.model_validate(response)
    except ValidationError:
        raise _not_converse() from None
    tokens = parsed.usage.totalTokens
    if parsed.stopReason in REFUSED:
        return refused(tokens)
    if parsed.stopReason in CUT:
        return too_long(most_tokens, tokens)
    parts = parsed.output.message.content
    arguments = [json.dumps(part.toolUse.input) for part in parts if part.toolUse]
    return ModelText(next(iter(arguments), "".join(part.text for part in parts if part.text)), tokens)


def _not_converse() -> Unavailable:
    return Unavailable(
        "The answer from Bedrock's address is not one of Converse", "Check AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
    )
