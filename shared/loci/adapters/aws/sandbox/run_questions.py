"""Answers the questions of a run while it runs."""

import threading
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from loci.core.errors import LociError
from loci.core.json import Json, JsonObject
from loci.sandbox.lambda_host import questions
from loci.sandbox.lambda_host.questions import BadMessageError, MessageRows

AT_ONCE = 16
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.2

Answer = Callable[[Any], dict[str, Json]]


@contextmanager
def answering(rows: MessageRows, answer: Answer, most: int, failed: JsonObject) -> Generator[None]:
    """Answer questions until the block ends, at most `most` of them.

    The sandbox counts them too, but is not believed. If an answer fails, `failed` is sent instead: without an answer
    the run would wait until its time is over.
    """
    over = threading.Event()
    looking = threading.Thread(target=_look, args=(rows, answer, most, failed, over), name="answering", daemon=True)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()


def _look(rows: MessageRows, answer: Answer, most: int, failed: JsonObject, over: threading.Event) -> None:
    number, pause = 1, SHORTEST_PAUSE
    slots = threading.BoundedSemaphore(AT_ONCE)  # a question that waits in here would take memory
    threads = ThreadPoolExecutor(AT_ONCE)
    try:
        while number <= most and not over.wait(pause):
            question = None
            if slots.acquire(blocking=False):
                with suppress(LociError, BadMessageError):
                    question = questions.receive(rows, questions.QUESTION, number)
                if question is None:
                    slots.release()
            if question is None:
                pause = min(LONGEST_PAUSE, pause * 1.3)
                continue
            asked = threads.submit(_answer, rows, number, question, answer, failed)
            asked.add_done_callback(lambda done: (slots.release(), _report(done)))
            del question
            number, pause = number + 1, SHORTEST_PAUSE
    finally:
        # Do not wait for a tool that takes longer than the run.
        threads.shutdown(wait=False, cancel_futures=True)


def _answer(rows: MessageRows, number: int, question: Any, answer: Answer, failed: JsonObject) -> None:
    try:
        questions.send(rows, questions.ANSWER, number, answer(question))
    except BaseException:
        questions.send(rows, questions.ANSWER, number, failed)
        raise


def _report(done: "Future[None]") -> None:
    """Report an error as that of any thread: nobody asks the future for it."""
    error = None if done.cancelled() else done.exception()
    if error is not None:
        thread = threading.current_thread()
        threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, thread)))
