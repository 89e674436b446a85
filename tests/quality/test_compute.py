"""Questions that are computed, on a set that is made up."""

import ast
import json
import re
from pathlib import Path

import pytest

from tests.quality.compute import SNIPPETS, asked, told
from tests.quality.tables import computations_in, differences
from tests.support.each import each
from tests.support.executors import runner_packages

READ = "import pandas as pd\nrows = pd.read_csv(get_memory_path('ds-rain-and-sun', 'rain and sun.csv'))\n"
SUM = READ + 'print(f"@sum[{rows.rain.sum():.2f}]")'
ANSWERED = re.compile(r"@\w*\[[^\]]*\w")
"""A value beside a name, where there should be a place for what was computed."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@each(
    ("expected", "printed", "is_right"),
    [
        ("1.50", "@x[1.50]", True),
        ("1.5", "@x[1.50]", True),
        ("1.5", "@x[1.51]", False),
        ("True", "@x[True]", True),
        ("True", "@x[False]", False),
        ("314, 577", "@y[2], @x[314, 577]", True),
        ("314, 577", "@x[314, 578]", False),
        ("1", "@y[1]", False),
        ("1", "1", False),
    ],
)
def test_a_value_is_right_where_it_is_the_same_text_or_number(expected: str, printed: str, is_right: bool) -> None:
    assert (differences([("x", expected)], printed) == []) == is_right


@pytest.mark.anyio
async def test_what_is_not_right_is_counted_and_told(tmp_path: Path) -> None:
    runner_packages()
    home = tmp_path / "weather"
    (home / "tables").mkdir(parents=True)
    (home / "tables" / "rain and sun.csv").write_text("rain,sun\n1,2\n3,4\n")
    rows = [{"id": id, "answers": [["sum", "4"]]} for id in range(1, 5)]
    (home / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "q1.py").write_text(SUM)
    (tmp_path / "q2.py").write_text('"""The sum.\n\nOf what is open.\n"""\n' + SUM.replace("rain.sum", "sun.sum"))
    (tmp_path / "q3.py").write_text(SUM.replace("ds-rain", "ds-snow"))
    [weather] = computations_in(tmp_path)
    questions = await asked(weather, tmp_path)
    first, *others = told("weather", questions).splitlines()
    assert first.startswith("weather: 1 of 4 right, ")
    assert others[:2] == ["  2 is wrong: sum is 6.00, expected 4", "    Of what is open."]
    assert others[2].startswith("  3 is wrong: FileNotFoundError: ")
    assert others[3:] == ["  4 is wrong: there is no snippet q4.py"]


@each("snippet", sorted(SNIPPETS.glob("q*.py")))
def test_a_snippet_reads_a_table_and_writes_no_answer_down(snippet: Path) -> None:
    tree = ast.parse(snippet.read_text("utf-8"))
    called = [node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    assert called.count("get_memory_path") == 1
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert any("@" in text for text in texts)
    assert not any(map(ANSWERED.search, texts))
