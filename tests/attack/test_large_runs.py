"""Workflows with large results: what Loci exports it takes again, and names what no Loci would take."""

import json
from pathlib import Path
from typing import Any

import pytest

from loci.core.identity import LOCAL
from loci.core.json import Json
from loci.transfer.kinds import MOST_VALUES
from loci.workflows.run import Run
from tests.attack.test_large_archives import imported
from tests.attack.test_poisoned_archives import RUN
from tests.support.archives import opened
from tests.support.serving import loci

ROW: dict[str, Json] = {"id": 7, "fruit": "quince", "price": 3.5, "kept": True}
MOST_MB = 900
"""Of an import of as many values as may be: their text, what it holds, and what is written of it."""


def kept(data: Path, key: str, rows: int) -> None:
    """Have a finished workflow whose task gave so many rows."""
    app = opened(data)
    table: list[Json] = [{**ROW, "id": at} for at in range(rows)]
    app.workflows.restore(LOCAL, key, Run.model_validate(RUN["run"]), {"t1": table})
    app.close()


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return tmp_path / "here" / "data"


def test_a_result_of_a_large_table_is_taken_again(here: Path, tmp_path: Path) -> None:
    rows = MOST_VALUES // 5 - 1000
    kept(here, "wf_large", rows)
    ended = loci(here, "export", str(tmp_path / "all.zip"), "--json")
    assert ended.returncode == 0, ended.stderr
    code, said, used = imported(tmp_path / "all.zip", tmp_path / "there" / "data")
    assert code == 0, said
    assert used < MOST_MB
    there = opened(tmp_path / "there" / "data").workflows
    [(key, run)] = there.ended(LOCAL).items()
    table: Any = there.values(LOCAL, key, run)["t1"]
    assert (len(table), table[5]) == (rows, {**ROW, "id": 5})


def test_an_export_names_what_no_loci_would_take(here: Path, tmp_path: Path) -> None:
    kept(here, "wf_large", MOST_VALUES // 5 + 1000)
    kept(here, "wf_small", 10)
    ended = loci(here, "export", str(tmp_path / "all.zip"), "--json")
    [failed] = json.loads(ended.stdout)["failed"]
    assert (ended.returncode, failed["name"]) == (1, "wf_large")
    assert "more than 64 MB, 2,000,000 values, or 200 levels" in failed["why"]
    again = loci(tmp_path / "there" / "data", "import", str(tmp_path / "all.zip"), "--json")
    assert json.loads(again.stdout)["taken"] == {"runs": 1}
