"""Workflows whose process is killed, at writes and at any time, and started again: nothing is done twice or lost."""

import json
import shutil
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

VALUES, SAFE, WRITES = ("echo", "set", "note"), ("echo", "set", "sleep", "fail"), ("note", "note_slowly")
FEW, ALL = 5, 150
MOST_KILLS = 4
FEWEST_OF_ALL = 200


@dataclass
class Lives:
    """The process that is forked for each life, and the folders that they live on."""

    process: "subprocess.Popen[str]"
    base: Path
    numbers: Any = field(default_factory=count)
    killed: int = 0

    def live(self, **asked: object) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        ended: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert not ended["hung"], ended
        assert ended["code"] in (0, -9), ended
        self.killed += ended["code"] == -9
        return ended

    def folder(self) -> Path:
        """A new one, with the server configured."""
        folder = self.base / str(next(self.numbers))
        shutil.copytree(self.base / "template", folder)
        return folder


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lives]:
    base = tmp_path_factory.mktemp("lives")
    command = [sys.executable, "-m", "tests.support.workflow_lives"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        made = Lives(process, base)
        made.live(folder=str(base / "template"), journal=str(base / "none"))
        yield made
        assert process.stdin is not None
        process.stdin.close()


@st.composite
def plans(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Tasks that wait for some of those before them, and use what they give."""
    tasks: list[dict[str, Any]] = []
    for at in range(draw(st.integers(1, 7))):
        id = f"t{at}"
        tool = draw(st.sampled_from([*SAFE, *WRITES, *WRITES]))
        after = draw(st.lists(st.sampled_from(tasks), max_size=2, unique_by=lambda one: one["id"])) if tasks else []
        arguments: dict[str, Any] = {"message": "no"} if tool == "fail" else {"key": id}
        if tool in ("sleep", "note_slowly"):
            arguments["ms"] = draw(st.integers(0, 30))
        elif tool in VALUES:
            given = [one["id"] for one in after if one["tool"].removeprefix("journal:") in VALUES]
            arguments["value"] = f"${given[0]}.result.value" if given else draw(st.sampled_from([1, "x" * 2000]))
        task: dict[str, Any] = {
            "id": id,
            "tool": f"journal:{tool}",
            "arguments": arguments,
            "dependsOn": [one["id"] for one in after],
        }
        task["on_error"] = draw(st.sampled_from(["fail", "continue"]))
        task["approve"] = draw(st.integers(0, 3)) == 0
        tasks.append(task)
    return tasks


KILLS = st.lists(
    st.one_of(
        st.fixed_dictionaries({"writes": st.integers(1, 10), "after": st.booleans()}),
        st.fixed_dictionaries({"ms": st.integers(0, 200)}),
    ),
    min_size=2,
    max_size=MOST_KILLS,
)


@pytest.mark.parametrize("examples", [FEW, pytest.param(ALL, marks=pytest.mark.exhaustive)])
def test_whatever_is_killed_goes_on_and_nothing_is_done_twice(lives: Lives, examples: int) -> None:
    lives.killed = 0

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
        phases=[Phase.generate],
    )
    @given(plans(), KILLS, st.booleans(), st.sampled_from([(), ("t0", "t3")]))
    def killed(tasks: list[dict[str, Any]], kills: list[dict[str, Any]], by_layer: bool, rejected: list[str]) -> None:
        folder = lives.folder()
        journal = folder / "journal.jsonl"
        asked = {"workflow": {"tasks": tasks}, "by_layer": by_layer, "rejected": rejected}
        asked |= {"folder": str(folder), "journal": str(journal)}
        ended = [lives.live(**asked, **kill) for kill in kills]
        ended.append(lives.live(**asked))
        assert ended[-1]["code"] == 0, ended[-1]
        lines = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
        events = [(one["event"], str(one["arguments"].get("key"))) for one in lines]
        said = [line for life in ended for line in life["said"]]
        check(Story({one["id"]: one for one in tasks}, frozenset(rejected), said, events))
        shutil.rmtree(folder)

    killed()
    assert lives.killed >= (FEWEST_OF_ALL if examples == ALL else 1)


@dataclass(frozen=True)
class Story:
    """What was planned, what the lives said, and what the tools have seen."""

    tasks: dict[str, dict[str, Any]]
    rejected: frozenset[str]
    said: list[dict[str, Any]]
    events: list[tuple[str, str]]
    """Their kinds, and the ids of the tasks."""

    @property
    def answers(self) -> list[dict[str, Any]]:
        return [line["answer"] for line in self.said if "answer" in line]

    @property
    def results(self) -> dict[str, Any]:
        return self.answers[-1]["results"]

    def ended(self, status: str) -> dict[str, str]:
        """The tasks that ended so, and why."""
        tasks = self.answers[-1].get("tasks", [])
        return {one["taskId"]: one.get("error", "") for one in tasks if one["status"] == status}

    def begun(self, id: str) -> list[int]:
        return [at for at, event in enumerate(self.events) if event == ("begin", id)]

    def tool(self, id: str) -> str:
        return self.tasks[id]["tool"].removeprefix("journal:")


def check(story: Story) -> None:
    """Every run ends, every task has an end, and the tools have seen what the plan allows."""
    assert story.answers[-1]["status"] in ("complete", "error", "aborted")
    assert len({answer["workflow_id"] for answer in story.answers}) == 1
    assert {*story.results, *story.ended("error"), *story.ended("skipped")} == {*story.tasks}
    nothing_is_lost(story)
    for id in story.tasks:
        nothing_is_done_twice(story, id)
        nothing_begins_too_early(story, id)
    what_failed_or_was_skipped_has_a_cause(story)


def nothing_is_lost(story: Story) -> None:
    for line in story.said:
        results = line.get("answer", {}).get("results", {})
        assert results.items() <= story.results.items()
        for run in line.get("left", {}).values():
            for id, state in run["tasks"].items():
                if state["status"] == "success":
                    assert state["is_stored"] or state["value"] == story.results[id]
                    assert id in story.results


def nothing_is_done_twice(story: Story, id: str) -> None:
    begun = len(story.begun(id))
    if story.tool(id) in WRITES:
        assert begun <= 1
    if id in story.results:
        assert begun
        assert ("end", id) in story.events
    if id in story.rejected and story.tasks[id]["approve"]:
        assert not begun


def nothing_begins_too_early(story: Story, id: str) -> None:
    begun = story.begun(id)
    waited: list[str] = story.tasks[id]["dependsOn"]
    for other in waited if begun else []:
        if other in story.results:
            assert ("end", other) in story.events[: begun[0]]
        else:  # it failed, and may
            assert other in story.ended("error")
            assert story.tasks[other]["on_error"] == "continue"


def what_failed_or_was_skipped_has_a_cause(story: Story) -> None:
    failed, skipped = story.ended("error"), story.ended("skipped")
    for id, error in failed.items():
        was_cut = story.tool(id) in WRITES and "INTERRUPTED" in error
        assert story.tool(id) == "fail" or was_cut or "UNRESOLVED_REFERENCE" in error, error
    for id in skipped:
        assert id in story.rejected or {*story.tasks[id]["dependsOn"]} & {*failed, *skipped}
