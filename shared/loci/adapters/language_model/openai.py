"""`TextModel` on OpenAI's chat completions, or on any server that speaks them: Ollama, vLLM, llama.cpp, a gateway."""

import logging
import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field, ValidationError

from loci.core.errors import Misconfigured, Unavailable
from loci.core.json import JsonObject
from loci.search.language_model import ModelAnswer, ModelText, refused, too_long, too_slow

if TYPE_CHECKING:
    from httpx2 import Client, Response

LARGEST_ANSWER = 1024 * 1024
PLAIN_CODE = re.compile(r"[a-z][a-z0-9_.-]{0,60}")
RESOLUTIONS = {
    400: "Use a model that can answer by a JSON schema",
    401: "Correct LOCI_LANGUAGE_MODEL_KEY",
    403: "Use a key that may use this model, in LOCI_LANGUAGE_MODEL_KEY",
    404: "Correct LOCI_LANGUAGE_MODEL or LOCI_LANGUAGE_MODEL_URL",
    429: "Wait, or raise the account's limits",
}


class _ChatMessage(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _ChatChoice(BaseModel):
    message: _ChatMessage
    finish_reason: str | None = None


class _ChatUsage(BaseModel):
    total_tokens: int = Field(ge=0)


class _ChatCompletion(BaseModel):
    choices: list[_ChatChoice] = Field(min_length=1)
    usage: _ChatUsage | None = None


class _ChatError(BaseModel):
    code: str | int | None = None


class _ChatErrorAnswer(BaseModel):
    error: _ChatError


class OpenAiModel:
    """A model on such a server. Never repeats the server's error messages: they may contain the key."""

    def __init__(self, model: str, url: str, key: str | Callable[[], str] | None = None) -> None:
        """`key`: may be a function, called for the first question, and again when the server refuses the key."""
        self._model = model
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._read_key = key if callable(key) else None
        self._key = "" if key is None or callable(key) else key.strip()
        if not _can_be_sent(self._key):
            raise Misconfigured("The language model's key is not valid", "Set LOCI_LANGUAGE_MODEL_KEY without spaces")
        # OpenAI's newer models refuse the old name; most others know only that.
        of_openai = re.match(r"https://[^/]*\bopenai\.(com|azure\.com)/", self._url)
        self._most_tokens = "max_completion_tokens" if of_openai else "max_tokens"
        self._opening = threading.Lock()
        self._opened: Client | None = None

    def write(self, prompt: str, schema: JsonObject, *, seconds: float, most_tokens: int) -> ModelAnswer:
        import httpx2  # takes 0.03 s, and TLS 0.05 s; only a search with a language model needs it

        request = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            },
            self._most_tokens: most_tokens,
        }
        try:
            with self._client().stream("POST", self._url, json=request, timeout=seconds) as response:
                status, body = response.status_code, self._body(response, time.monotonic() + seconds)
        except httpx2.ReadTimeout:
            return too_slow(seconds)
        # Neither the error nor its text goes on: if a header is at fault, it contains the key.
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unavailable(
                f"The language model cannot be reached ({type(error).__name__})",
                "Check LOCI_LANGUAGE_MODEL_URL and the network",
            ) from None
        if body is None:
            return too_slow(seconds)
        if status == 401 and self._read_key:
            self.close()  # the key may have been replaced: the next question reads it again
        if status != 200:
            raise Unavailable(
                f"The language model's server answered {status}{self._code(body)}",
                RESOLUTIONS.get(status, "Try again. If it fails again, check LOCI_LANGUAGE_MODEL_URL"),
            )
        return _answer(body, most_tokens)

    def close(self) -> None:
        with self._opening:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _client(self) -> "Client":
        """The client of all threads. It keeps the connection open between questions."""
        import httpx2

        with self._opening:
            if self._opened is None:
                if self._read_key:
                    self._key = self._read_key().strip()
                if not _can_be_sent(self._key):
                    raise Unavailable("The language model's key is not valid", "Store it in the secret without spaces")
                headers = {"Accept-Encoding": "identity"}  # so that no compressed answer exceeds the limit
                if self._key:
                    headers["Authorization"] = f"Bearer {self._key}"
                self._opened = httpx2.Client(headers=headers)
                for name in ("httpx2", "httpcore2"):  # they log addresses and headers
                    logging.getLogger(name).setLevel(logging.WARNING)
            return self._opened

    def _body(self, response: "Response", deadline: float) -> bytes | None:
        """The whole body; None if it arrives too slowly."""
        body = bytearray()
        for part in response.iter_raw():
            body += part
            if len(body) > LARGEST_ANSWER:
                raise Unavailable(
                    "The language model's server answered more than 1 MB", "Check LOCI_LANGUAGE_MODEL_URL"
                )
            if time.monotonic() > deadline:
                return None
        return bytes(body)

    def _code(self, body: bytes) -> str:
        """OpenAI's short code of the error, such as `insufficient_quota`, in brackets; empty if it has none."""
        try:
            code = str(_ChatErrorAnswer.model_validate_json(body).error.code)
        except ValidationError:
            return ""
        is_plain = PLAIN_CODE.fullmatch(code) and code != "None" and not (self._key and self._key in code)
        return f" ({code})" if is_plain else ""


def _can_be_sent(key: str) -> bool:
    return re.fullmatch(r"[!-~]*", key) is not None


def _answer(body: bytes, most_tokens: int) -> ModelAnswer:
    try:
        completion = _ChatCompletion.model_validate_json(body)
    except ValidationError:
        raise Unavailable(
            "The answer of the language model's server is not a chat completion",
            "Check LOCI_LANGUAGE_MODEL_URL: it usually ends in /v1",
        ) from None
    choice, tokens = completion.choices[0], completion.usage.total_tokens if completion.usage else None
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return refused(tokens)
    if choice.finish_reason == "length":
        return too_long(most_tokens, tokens)
    return ModelText(choice.message.content or "", tokens)
