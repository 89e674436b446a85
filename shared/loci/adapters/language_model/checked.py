"""`LanguageModel` over what any provider writes: in time, within the allowance, and fit for the schema."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import NoReturn, Protocol, assert_never, cast

from loci.adapters.language_model.allowance import DailyAllowance
from loci.core.errors import LociError, Unavailable
from loci.core.json import Json, JsonObject
from loci.search.language_model import ModelAnswer, ModelText, NoAnswer, too_slow

AT_ONCE = 8
BYTES_A_TOKEN = 3
"""Rather too few than too many: English has about four, Chinese about three."""


class TextModel(Protocol):
    """A provider's model."""

    def write(self, prompt: str, schema: JsonObject, *, seconds: float, most_tokens: int) -> ModelAnswer:
        """What the model wrote, unchecked. `Unavailable` where it never began to: that has cost nothing."""
        ...


class CheckedModel:
    """A writer whose answers can be relied on."""

    def __init__(
        self, writer: TextModel, allowance: DailyAllowance, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._writer = writer
        self._allowance = allowance
        self._clock = clock
        self._places = threading.BoundedSemaphore(AT_ONCE)

    def complete(self, prompt: str, schema: JsonObject, *, seconds: float, most_tokens: int) -> JsonObject:
        deadline = self._clock() + seconds
        slow = too_slow(seconds)
        if not self._places.acquire(timeout=seconds):
            raise Unavailable(slow.why, slow.resolution)
        sendable = prompt.encode("utf-8", "replace").decode()  # half of a surrogate pair is not
        work = Future[JsonObject]()
        # The timeouts of a connection start anew with every byte: only somebody else can watch the whole.
        # A daemon, because nobody who has given up on an answer should wait for it when Loci ends.
        threading.Thread(
            target=self._work, args=(work, sendable, schema, deadline, most_tokens), name="language-model", daemon=True
        ).start()
        try:
            return work.result(timeout=max(0.0, deadline - self._clock()))
        except TimeoutError:
            raise Unavailable(slow.why, slow.resolution) from None

    def _work(
        self, work: Future[JsonObject], prompt: str, schema: JsonObject, deadline: float, most_tokens: int
    ) -> None:
        try:
            work.set_result(self._answer(prompt, schema, deadline, most_tokens))
        except Unavailable as error:
            work.set_exception(error)
        except LociError as error:  # the store of the allowance may be damaged, too
            work.set_exception(Unavailable(error.what, error.resolution))
        finally:
            work.cancel()  # which only a bug leaves to do: its traceback is the thread's, and nobody waits on
            self._places.release()

    def _answer(self, prompt: str, schema: JsonObject, deadline: float, most_tokens: int) -> JsonObject:
        began = self._clock()
        try:
            return _fit(self._written(prompt, schema, deadline, most_tokens), schema)
        except _UnfitError as unfit:
            if 2 * self._clock() - began > deadline:  # it would take as long again, and cost as much
                _give_up(unfit)
            again = f"{prompt}\n\nYour last answer was of no use: {unfit}. Answer again, with fitting JSON only."
        try:
            return _fit(self._written(again, schema, deadline, most_tokens), schema)
        except _UnfitError as unfit:
            _give_up(unfit)

    def _written(self, prompt: str, schema: JsonObject, deadline: float, most_tokens: int) -> str:
        """The answer's text. What it costs is reserved first, then made exact."""
        reserved = len(prompt.encode()) // BYTES_A_TOKEN + len(json.dumps(schema)) + most_tokens
        day = self._allowance.reserve(reserved)
        try:
            answer = self._writer.write(
                prompt, schema, seconds=max(0.1, deadline - self._clock()), most_tokens=most_tokens
            )
        except Unavailable:
            self._allowance.correct(day, -reserved)
            raise
        if answer.tokens is not None:
            self._allowance.correct(day, answer.tokens - reserved)
        match answer:
            case ModelText(text):
                return text
            case NoAnswer(why, resolution):
                raise Unavailable(why, resolution)
            case _:
                assert_never(answer)


class _UnfitError(Exception):
    """Says what is wrong with an answer, in none of its own words."""


class _Fault(Protocol):
    """What jsonschema, which has no types, says of a value."""

    json_path: str
    validator: str


def _fit(text: str, schema: JsonObject) -> JsonObject:
    import jsonschema  # 0.1 s, which only a search with a language model pays

    value = _parsed(text)
    faults = cast("Iterator[_Fault]", jsonschema.Draft202012Validator(schema).iter_errors(value))  # pyright: ignore[reportUnknownMemberType]
    for fault in faults:
        raise _UnfitError(f"at {fault.json_path} the schema's {fault.validator!r} does not hold")
    return value


def _parsed(text: str) -> JsonObject:
    """The object in the text, which some models put between backticks."""
    try:
        value = cast("Json", json.loads(text[text.find("{") : text.rfind("}") + 1], parse_constant=_no_number))
        json.dumps(value, ensure_ascii=False).encode()  # half of a surrogate pair cannot be sent on
    except (ValueError, RecursionError):
        raise _UnfitError("it is not a JSON object") from None
    if not isinstance(value, dict):
        raise _UnfitError("it is not a JSON object")
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"JSON has no {name}")


def _give_up(unfit: _UnfitError) -> NoReturn:
    raise Unavailable(
        f"The language model's answer does not fit: {unfit}", "Use a model that can answer by a JSON schema"
    ) from None
