"""How a run finds an executor's variables, and how they are saved after it."""

import tracemalloc

import pytest

from loci.adapters import run_results
from loci.sandbox.supervisor import variables
from loci.sandbox.supervisor.executor_process import ExecutorProcess
from loci.sandbox.supervisor.limits import Bounds
from loci.sandbox.supervisor.variables import Kept, Lost, New, Restored, Saved, Start, UnreadableError, Unsaved
from tests.support.each import each
from tests.support.executors import PATIENT, ExecutorFactory, printed

MB = 1 << 20
MUCH = Bounds(seconds=50, memory_bytes=2048 * MB)
LITTLE = PATIENT


def test_a_process_that_nobody_has_used_is_new_and_then_kept(executor: ExecutorProcess) -> None:
    def no_other() -> ExecutorProcess:
        raise AssertionError

    assert variables.start(executor, no_other, None) == (executor, New())
    printed(executor, "x = 1")
    assert variables.start(executor, no_other, None) == (executor, Kept())


def test_variables_are_restored_in_a_new_process(python: ExecutorFactory) -> None:
    pieces: list[bytes] = []
    with python.executor(PATIENT) as here, python.executor(PATIENT) as there:
        printed(here, "x = 1")
        saved = variables.save(here, pieces.append, MB, all_of_it=True)
        assert isinstance(saved, Saved)
        assert (saved.said["kept"], saved.said["lost"]) == (["x"], [])
        here.end()
        executor, start = variables.start(here, lambda: there, lambda: pieces)
        assert isinstance(start, Restored)
        assert (executor, start.said["kept"]) == (there, ["x"])
        assert printed(there, "print(x)") == "1\n"


def test_what_is_restored_passes_through_piece_by_piece(python: ExecutorFactory) -> None:
    pieces: list[bytes] = []
    with python.executor(MUCH) as here, python.executor(MUCH) as there:
        printed(here, f"import os; x = os.urandom({32 * MB})")
        variables.save(here, pieces.append, 128 * MB, all_of_it=True)
        whole = b"".join(pieces)
        tracemalloc.start()
        try:
            there.restore((whole[at : at + MB] for at in range(0, len(whole), MB)), 50)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert printed(there, "print(len(x))") == f"{32 * MB}\n"
    assert most < 8 * MB


def test_what_cannot_be_read_is_lost(python: ExecutorFactory) -> None:
    def damaged() -> list[bytes]:
        raise UnreadableError("it is damaged")

    with python.executor(PATIENT) as one:
        assert variables.start(None, lambda: one, damaged) == (one, Lost("it is damaged"))
        assert printed(one, "print(1)") == "1\n"


def test_a_variable_that_does_not_fit_into_memory_is_lost_and_the_others_are_back(python: ExecutorFactory) -> None:
    pieces: list[bytes] = []
    with python.executor(MUCH) as here, python.executor(LITTLE) as there:
        printed(here, "small = 1\nlarge = b'x' * (400 << 20)\nlast = 2")
        variables.save(here, pieces.append, 1024 * MB, all_of_it=True)
        _, start = variables.start(None, lambda: there, lambda: pieces)
        assert isinstance(start, Restored)
        assert start.said["lost"] == [{"name": "large", "reason": "there is not enough memory to read it"}]
        assert printed(there, "print(small, last, 'large' in globals())") == "1 2 False\n"


def test_variables_that_end_their_reader_are_lost_and_the_next_process_is_clean(python: ExecutorFactory) -> None:
    pieces: list[bytes] = []
    with (
        python.executor(PATIENT) as here,
        python.executor(PATIENT) as first,
        python.executor(PATIENT) as again,
        python.executor(PATIENT) as third,
        python.executor(PATIENT) as second,
    ):
        printed(here, "import os\nsmall = 1\nclass Ends:\n def __reduce__(self): return os._exit, (0,)\nlarge = Ends()")
        variables.save(here, pieces.append, MB, all_of_it=True)
        spare = iter((first, again, third, second))
        executor, start = variables.start(None, lambda: next(spare), lambda: pieces)
        assert (executor, start) == (second, Lost("ended"))
        assert first.ended
        assert again.ended
        assert third.ended
        assert printed(second, "print('small' in globals())") == "False\n"


def test_a_variable_with_half_a_character_in_its_name_is_saved(python: ExecutorFactory) -> None:
    pieces: list[bytes] = []
    with python.executor(PATIENT) as here, python.executor(PATIENT) as there:
        printed(here, "globals()['\\ud800'] = globals()['\\ud801'] = [41]")
        here.save(pieces.append, MB, 20)
        there.restore(pieces, 20)
        assert (
            printed(there, "print(globals()['\\ud800'] is globals()['\\ud801'], *globals()['\\ud800'])") == "True 41\n"
        )


@each("all_of_it", [True, False])
def test_a_variable_that_there_is_no_memory_to_save_is_too_large(python: ExecutorFactory, all_of_it: bool) -> None:
    with python.executor(LITTLE) as one:
        printed(one, "small = 1\nlarge = b'x' * (120 << 20)")
        saved = variables.save(one, lambda _: None, 1024 * MB, all_of_it=all_of_it)
        if all_of_it:
            assert saved == Unsaved("the variables take more than 1024 MB")
        else:
            assert isinstance(saved, Saved)
            assert saved.said["kept"] == ["small"]
            assert [entry["name"] for entry in saved.said["lost"]] == ["large"]
        assert printed(one, "print(small, len(large))") == f"1 {120 << 20}\n"


def test_a_process_that_did_not_hand_over_everything_has_saved_nothing(python: ExecutorFactory) -> None:
    code = """
import gc
for one in gc.get_objects():
    if type(one).__name__ == "Executor":
        def fails(asked): raise MemoryError
        one._operations["save"] = fails
"""
    with python.executor(PATIENT) as one:
        printed(one, code)
        assert variables.save(one, lambda _: None, MB, all_of_it=False) == Unsaved("there was no memory to save them")


@each("start", [Kept(), Restored({"kept": ["x"], "lost": []}), Lost("it is damaged"), New()])
def test_a_start_comes_out_of_a_function_as_it_was(start: Start) -> None:
    assert variables.start_from_json(variables.start_to_json(start)) == start


@each("answer", [{}, {"began": "none"}, {"began": "restored", "restored": 5}, {"began": ["kept"]}])
def test_a_start_that_makes_no_sense_is_refused(answer: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        variables.start_from_json(answer)


def test_an_answer_without_names_forgets_no_variable() -> None:
    assert run_results.variable_names({"ok": False, "memory": True}, ("x",)) == ("x",)
    assert run_results.variable_names({"names": ["y", 1]}, ("x",)) == ("y",)
