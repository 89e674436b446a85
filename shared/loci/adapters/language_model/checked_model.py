"""A language model whose answers are checked against their schema, and whose calls are limited in number."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import NoReturn, Protocol, assert_never, cast

from loci.core.errors import Conflict, LociError, Unavailable
from loci.core.identity import SYSTEM
from loci.core.json import Json, JsonObject
from loci.core.storage_keys import LANGUAGE_TOKENS
from loci.core.stores import Record, RecordStore, read_or_none, update
from loci.search.language_model import ModelAnswer, ModelText, NoAnswer, too_slow

TWO_DAYS = 2 * 24 * 3600


class DailyAllowance:
    """The tokens that may be used each day (UTC), counted in the store that all instances share."""

    def __init__(self, records: RecordStore, most_tokens: int, clock: Callable[[], float]) -> None:
        self._records = records
        self._most = most_tokens
        self._clock = clock

    def reserve(self, tokens: int, of_day: float = 1.0) -> str:
        """Take the tokens from this share of today's allowance, and return the day.

        Raises `Unavailable` if too few are left.
        """
        day = datetime.fromtimestamp(self._clock(), UTC).date().isoformat()
        self._add(day, tokens, most=int(self._most * of_day))
        return day

    def correct(self, day: str, tokens: int) -> None:
        """Add tokens to the count of that day; a negative number gives tokens back."""
        # If this fails, the reservation stays: better to count too many tokens than too few.
        with suppress(Unavailable):
            self._add(day, tokens, most=None)

    def _add(self, day: str, tokens: int, *, most: int | None) -> None:
        def added(record: Record | None) -> JsonObject:
            spent = read_or_none(record, spent_tokens) or 0
            if most is not None and spent + tokens > most:
                kind = "" if most == self._most else " for work that nobody waits for"
                raise Unavailable(
                    f"The language model's {most:,} tokens for today{kind} are spent",
                    "Wait until midnight UTC, or raise LOCI_LANGUAGE_MODEL_DAILY_TOKENS",
                )
            return {"tokens": max(0, spent + tokens)}

        try:
            until = self._clock() + TWO_DAYS
            update(self._records, SYSTEM, LANGUAGE_TOKENS, day, added, expires_at=until, durable=False)
        except Conflict:
            raise Unavailable("Too many requests use the language model at once", "Try again") from None


def spent_tokens(record: Record) -> int:
    """The tokens that a day's record counts."""
    return int(str(record.value["tokens"]))


AT_ONCE = 8
BYTES_A_TOKEN = 3
"""A low estimate, so that the reservation is high: English has about four, Chinese about three."""


class TextModel(Protocol):
    """A provider's model."""

    def write(self, prompt: str, schema: JsonObject, *, seconds: float, most_tokens: int) -> ModelAnswer:
        """The model's answer, unchecked. Raises `Unavailable` if the model never began, which costs nothing."""
        ...

    def close(self) -> None:
        """End its connections. Another question opens them anew."""
        ...


@dataclass(frozen=True, slots=True)
class _Question:
    prompt: str
    schema: JsonObject
    deadline: float
    most_tokens: int
    of_day: float


class CheckedModel:
    """Makes the answers of a provider's model reliable."""

    def __init__(self, model: TextModel, allowance: DailyAllowance) -> None:
        self._model = model
        self._allowance = allowance
        self._slots = threading.BoundedSemaphore(AT_ONCE)

    def complete(
        self, prompt: str, schema: JsonObject, *, seconds: float, most_tokens: int, of_day: float = 1.0
    ) -> JsonObject:
        deadline = time.monotonic() + seconds
        slow = too_slow(seconds)
        if not self._slots.acquire(timeout=seconds):
            raise Unavailable(slow.why, slow.resolution)
        sendable = prompt.encode("utf-8", "replace").decode()  # half of a surrogate pair cannot be sent
        question = _Question(sendable, schema, deadline, most_tokens, of_day)
        work = Future[JsonObject]()
        # In a thread: the timeout of a connection starts again with every byte, so only the caller can limit the whole.
        # A daemon: when Loci ends, it must not wait for an answer that nobody wants any more.
        threading.Thread(target=self._work, args=(work, question), name="language-model", daemon=True).start()
        try:
            return work.result(timeout=max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            raise Unavailable(slow.why, slow.resolution) from None

    def close(self) -> None:
        self._model.close()

    def _work(self, work: Future[JsonObject], question: _Question) -> None:
        try:
            work.set_result(self._answer(question))
        except Unavailable as error:
            work.set_exception(error)
        except LociError as error:  # for example, the store of the allowance is damaged
            work.set_exception(Unavailable(error.what, error.resolution))
        finally:
            work.cancel()  # only after a bug: the thread shows its traceback, and the caller stops waiting
            self._slots.release()

    def _answer(self, question: _Question) -> JsonObject:
        began = time.monotonic()
        try:
            return _fitting(self._written(question), question.schema)
        except _UnfitError as unfit:
            if 2 * time.monotonic() - began > question.deadline:  # a second try would take as long, and cost as much
                _give_up(unfit)
            said = f"Your last answer was of no use: {unfit}. Answer again, with fitting JSON only."
        try:
            again = replace(question, prompt=f"{question.prompt}\n\n{said}")
            return _fitting(self._written(again), question.schema)
        except _UnfitError as unfit:
            _give_up(unfit)

    def _written(self, question: _Question) -> str:
        """The text of the answer. Reserves its tokens first, and corrects the number afterwards."""
        read = len(question.prompt.encode()) // BYTES_A_TOKEN + len(json.dumps(question.schema))
        reserved = read + question.most_tokens
        day = self._allowance.reserve(reserved, question.of_day)
        seconds = max(0.1, question.deadline - time.monotonic())
        try:
            answer = self._model.write(
                question.prompt, question.schema, seconds=seconds, most_tokens=question.most_tokens
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
    """An answer that does not fit. The message says why, without quoting the answer."""


class _SchemaFault(Protocol):
    """An error of jsonschema, which has no types."""

    json_path: str
    validator: str


def _fitting(text: str, schema: JsonObject) -> JsonObject:
    import jsonschema  # takes 0.1 s; only a search with a language model needs it

    value = _parsed(text)
    faults = cast("Iterator[_SchemaFault]", jsonschema.Draft202012Validator(schema).iter_errors(value))  # pyright: ignore[reportUnknownMemberType]
    for fault in faults:
        raise _UnfitError(f"at {fault.json_path} the schema's {fault.validator!r} does not hold")
    return value


def _parsed(text: str) -> JsonObject:
    """The JSON object in the text. Some models put backticks around it."""
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
