"""The answers of runs of Python, held to what the tool says of them."""

from dataclasses import replace

from loci.code.ports import ExecutorCondition, LostVariable, PythonResult, RunFailure, Value, WrittenFile
from loci.code.python import python_answer, python_under_way
from loci.code.run_tools import RunResult
from tests.support.each import each

LOST = (LostVariable("db", "a connection cannot be saved"),)
CONDITION = ExecutorCondition("restored", kept=("x",), lost=LOST, unsaved="they are larger than 50 MB")


def _ran(outcome: Value | RunFailure | None, stdout: str = "printed\n") -> PythonResult:
    files = (WrittenFile("out/a.csv", 3),)
    return PythonResult(
        outcome, stdout, "", False, 1.5, 90.0, CONDITION, figures=(b"\x89PNG", b"\x89PNG2"), files=files
    )


@each("outcome", [Value("int", "41"), None, RunFailure("CODE_ERROR", "It failed", "Correct it", "…")])
def test_an_answer_has_exactly_the_fields_that_the_tool_declares(outcome: Value | RunFailure | None) -> None:
    result = python_answer(_ran(outcome))["result"]
    declared = RunResult.model_validate({"result": result}, strict=True).model_dump(include={"result"})
    assert declared == {"result": result}


def test_the_answer_of_a_run_that_goes_on_has_no_others() -> None:
    answer = python_under_way(25_000, "0123456789ab")
    assert RunResult.model_validate(answer, strict=True).model_dump(exclude_unset=True) == answer


def test_of_many_names_the_first_are_told_and_how_many_there_are() -> None:
    names = tuple(f"v{number}" for number in range(1700))
    condition = ExecutorCondition("restored", names, tuple(LostVariable(one, "lost") for one in names), names)
    answer = python_answer(replace(_ran(RunFailure("CODE_ERROR", "It failed", "Correct it")), condition=condition))
    told = RunResult.model_validate({"result": answer["result"]}).result
    assert told is not None
    for shown in (told.executor.kept, told.executor.older, [one.name for one in told.executor.lost]):
        assert shown == [*names[:500], "(and 1,200 more)"]
    assert str(answer["text"]).count("(and 1,680 more)") == 2


def test_a_long_output_beside_an_error_keeps_its_end() -> None:
    failure = RunFailure("CODE_ERROR", "It failed", "Correct it")
    answer = python_answer(_ran(failure, "x" * 10_000 + "end"))
    result = answer["result"]
    assert isinstance(result, dict)
    assert result["truncated"] is True
    assert str(result["stdout"]).startswith("…")
    assert str(result["stdout"]).endswith("xend")
    assert len(str(answer["text"])) < 5000
    assert "db (a connection cannot be saved)" in str(answer["text"])
