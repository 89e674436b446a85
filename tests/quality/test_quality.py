"""The table of `make quality`, on sets that are made up."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.quality.__main__ import main
from tests.quality.figures import Ranks
from tests.quality.sets import sets_in

LISBON = [
    ("Ada", "I bought a violin in Lisbon last week.", ""),
    ("Bo", "Lovely! I planted tulips behind the shed.", ""),
    ("Ada", "Send me a picture of your garden.", ""),
]
POND = [
    ("Bo", "Look who came to the pond.", "a photo of a heron among reeds"),
    ("Ada", "What a guest! My lessons start on Monday.", ""),
    ("Bo", "The tulips are in flower now, all of them red.", ""),
]
BAKERY = [
    ("Cleo", "The bakery hired me, I begin at four in the morning.", ""),
    ("Dov", "Congratulations! I sold my motorcycle to a neighbour.", ""),
    ("Cleo", "Then take the tram to our shop.", ""),
]


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    """Two of LoCoMo's layout, with its odd places of turns, and a question without one."""
    first = [
        _asked("Which violin did Ada buy in Lisbon?", 4, "D1:1"),
        _asked("Which tulips did Bo plant?", 1, "D1:2; D2:03"),
        _asked("Did a heron come to the pond?", 3, "D:2:1", "D9:9"),
        _asked("Where did Bo buy his violin in Lisbon?", 5, "D1:1"),
        _asked("Who is the oldest?", 3),
    ]
    second = [_asked("To whom did Dov sell his motorcycle?", 4, "D1:2")]
    found = [_conversation("a", first, LISBON, POND), _conversation("b", second, BAKERY)]
    (tmp_path / "locomo10.json").write_text(json.dumps(found))
    return tmp_path


def test_locomos_own_file_is_sessions_of_turns_and_questions_with_their_turns(conversations: Path) -> None:
    [found] = sets_in(conversations)
    assert [(text.scope, text.markdown.splitlines()[0]) for text in found.texts] == [
        ("a", "# a session 1, 1 pm on day 1"),
        ("a", "# a session 2, 1 pm on day 2"),
        ("b", "# b session 1, 1 pm on day 1"),
    ]
    [buy, plant, heron, false, _] = found.questions
    assert plant.answers == {"a#D1:2", "a#D2:3"}
    assert (buy.is_answerable, false.is_answerable, false.answers) == (True, False, buy.answers)
    shown = found.homes()["a#D2:1"].evidence(heron)
    assert shown == ["Bo: Look who came to the pond. [shares a photo: a photo of a heron among reeds]"]


def test_each_set_has_a_row_for_each_tool_that_finds_its_texts(
    conversations: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(conversations / "harbours")
    assert main([str(conversations), "--models", str(conversations / "none")]) == 0
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[2:]]
    said = {(row[0], row[1]): dict(zip(rows[0][2:], row[2:], strict=True)) for row in rows[2:]}
    shape = {key: (row["documents"], row["questions"]) for key, row in said.items()}
    assert shape == {
        ("harbours", "documents, words alone"): ("2", "2"),
        ("harbours", "files, words alone"): ("2", "2"),
        ("locomo10", "documents, words alone"): ("3", "5"),
        ("locomo10", "turns, words alone"): ("9", "5"),
    }
    for (_, search), row in said.items():
        assert row["R@10"] == "1.000"
        if not search.startswith("turns"):
            assert (row["evidence held"], row["own refused"], row["foreign refused"]) == ("1.000", "0.000", "1.000")


def test_the_figures_are_those_that_others_publish() -> None:
    right = frozenset("ab")
    ranks = Ranks.of([(right, "xaxxxb"), (right, "b"), (frozenset("c"), "")])
    assert (ranks.recall_at_1, ranks.recall_at_5, ranks.recall_at_10) == pytest.approx((1 / 6, 1 / 3, 1 / 2))
    assert ranks.reciprocal == pytest.approx(1 / 2)
    assert ranks.gain == pytest.approx(0.4061, abs=0.0001)


def _asked(text: str, category: int, *evidence: str) -> dict[str, Any]:
    key = "adversarial_answer" if category == 5 else "answer"
    return {"question": text, key: "", "evidence": evidence, "category": category}


def _conversation(name: str, asked: list[dict[str, Any]], *sessions: list[tuple[str, str, str]]) -> dict[str, Any]:
    spoken: dict[str, Any] = {"speaker_a": sessions[0][0][0], "speaker_b": sessions[0][1][0]}
    for number, turns in enumerate(sessions, 1):
        spoken[f"session_{number}_date_time"] = f"1 pm on day {number}"
        spoken[f"session_{number}"] = [
            {"speaker": who, "dia_id": f"D{number}:{at}", "text": text} | ({"blip_caption": photo} if photo else {})
            for at, (who, text, photo) in enumerate(turns, 1)
        ]
    return {"sample_id": name, "conversation": spoken, "qa": asked}


def _write(folder: Path) -> None:
    """A set of two tables."""
    tables = {
        "Cranes in Genoa": [["Crane", "Tons"], ["Gantry", "412"]],
        "Ferries of Split": [["Ferry", "Decks"], ["Marjan", "173"]],
    }
    corpus = [
        {"_id": title, "title": title, "text": "\n".join(map(" | ".join, rows)), "table": rows}
        for title, rows in tables.items()
    ]
    queries = [
        {"_id": "1", "text": "How many tons has the gantry crane in Genoa?", "meta": {"cells": [[1, 1]]}},
        {"_id": "2", "text": "How many decks has the ferry Marjan?", "meta": {"cells": [[1, 1]]}},
    ]
    labels = [{"query_id": str(at), "doc_id": title, "rel": 1} for at, title in enumerate(tables, 1)]
    folder.mkdir()
    for name, rows in (("corpus", corpus), ("queries", queries), ("qrels", labels)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
