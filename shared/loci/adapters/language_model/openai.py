"""A model behind OpenAI's chat completions, or whoever speaks them: Ollama, vLLM, llama.cpp, a gateway."""

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


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    total_tokens: int = Field(ge=0)


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


class _Fault(BaseModel):
    code: str | int | None = None


class _Failed(BaseModel):
    error: _Fault


class OpenAiModel:
    """What such a server's model writes. Nothing that the server says of an error is repeated: it may hold the key."""

    def __init__(
        self,
        model: str,
        url: str,
        key: str | Callable[[], str] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A key that is called for is read with the first question, and again where the server refuses it."""
        self._model = model
        self._url = f"{url.rstrip('/')}/chat/completions"
        self._read_key = key if callable(key) else None
        self._key = "" if key is None or callable(key) else key.strip()
        if not _can_be_sent(self._key):
            raise Misconfigured("The language model's key cannot be one", "Set LOCI_LANGUAGE_MODEL_KEY without spaces")
        # OpenAI's newer models refuse the old name; most others know only that.
        of_openai = re.match(r"https://[^/]*\bopenai\.(com|azure\.com)/", self._url)
        self._most_tokens = "max_completion_tokens" if of_openai else "max_tokens"
        self._clock = clock
        self._opening = threading.Lock()
        self._opened: Client | None = None

    def write(self, prompt: str, schema: JsonObject, *, seconds: float, most_tokens: int) -> ModelAnswer:
        import httpx2  # 0.03 s, and TLS 0.05 s: only a search with a language model pays it

        asked = {
            "model": self._model,
            "messages": [{"role": "user", "content": prompt}],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            },
            self._most_tokens: most_tokens,
        }
        try:
            with self._client().stream("POST", self._url, json=asked, timeout=seconds) as response:
                status, body = response.status_code, self._body(response, self._clock() + seconds)
        except httpx2.ReadTimeout:
            return too_slow(seconds)
        # Not `from`, and no word of it: where a header is at fault, the error holds the key.
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Unavailable(
                f"The language model cannot be reached ({type(error).__name__})",
                "Check LOCI_LANGUAGE_MODEL_URL and the network",
            ) from None
        if body is None:
            return too_slow(seconds)
        if status == 401 and self._read_key:
            self.close()  # the next question reads the key again: it may have been replaced
        if status != 200:
            raise Unavailable(
                f"The language model's server answered {status}{self._code(body)}",
                RESOLUTIONS.get(status, "Try again; if it stays, check LOCI_LANGUAGE_MODEL_URL"),
            )
        return _answer(body, most_tokens)

    def close(self) -> None:
        with self._opening:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _client(self) -> "Client":
        """One for all threads: it keeps the connection open from question to question."""
        import httpx2

        with self._opening:
            if self._opened is None:
                if self._read_key:
                    self._key = self._read_key().strip()
                if not _can_be_sent(self._key):
                    raise Unavailable("The language model's key cannot be one", "Keep it in the secret without spaces")
                headers = {"Accept-Encoding": "identity"}  # so that an answer is not larger than it looks
                if self._key:
                    headers["Authorization"] = f"Bearer {self._key}"
                self._opened = httpx2.Client(headers=headers)
                for name in ("httpx2", "httpcore2"):  # their lines hold addresses, and the headers of answers
                    logging.getLogger(name).setLevel(logging.WARNING)
            return self._opened

    def _body(self, response: "Response", deadline: float) -> bytes | None:
        """All of it; None where it comes too slowly."""
        body = bytearray()
        for part in response.iter_raw():
            body += part
            if len(body) > LARGEST_ANSWER:
                raise Unavailable(
                    "The language model's server answered more than 1 MB", "Check LOCI_LANGUAGE_MODEL_URL"
                )
            if self._clock() > deadline:
                return None
        return bytes(body)

    def _code(self, body: bytes) -> str:
        """OpenAI's short name for the error, such as `insufficient_quota`."""
        try:
            code = str(_Failed.model_validate_json(body).error.code)
        except ValidationError:
            return ""
        is_plain = PLAIN_CODE.fullmatch(code) and code != "None" and not (self._key and self._key in code)
        return f" ({code})" if is_plain else ""


def _can_be_sent(key: str) -> bool:
    return re.fullmatch(r"[!-~]*", key) is not None


def _answer(body: bytes, most_tokens: int) -> ModelAnswer:
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError:
        raise Unavailable(
            "The language model's server answered something else than a chat completion",
            "Check LOCI_LANGUAGE_MODEL_URL: it mostly ends in /v1",
        ) from None
    choice, tokens = completion.choices[0], completion.usage.total_tokens if completion.usage else None
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return refused(tokens)
    if choice.finish_reason == "length":
        return too_long(most_tokens, tokens)
    return ModelText(choice.message.content or "", tokens)
