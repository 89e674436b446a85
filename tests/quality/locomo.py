"""LoCoMo's own file (`locomo10.json`): conversations of two people over months, and questions about them.

Its sessions become documents, its turns their items, and each conversation a scope.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
SESSION = re.compile(r"session_(\d+)")
TURN = re.compile(r"D:?(\d+):(\d+)")
"""The place of a turn. Some have a colon or a zero too many, and some strings have several."""

Rows = list[dict[str, Any]]


def conversations(found: Sequence[dict[str, Any]]) -> tuple[Rows, Rows, Rows]:
    """The turns, the questions, and which turn answers which question, as the lines of a set's three files."""
    corpus, queries, labels = Rows(), Rows(), Rows()
    for number, one in enumerate(found):
        name = str(one.get("sample_id", number))
        corpus += _turns(name, one["conversation"])
        for at, asked in enumerate(one["qa"]):
            id = f"{name}-q{at}"
            meta = {"category": CATEGORIES[asked["category"]]}
            queries.append({"_id": id, "text": asked["question"], "scope": name, "meta": meta})
            labels += [{"query_id": id, "doc_id": f"{name}#{turn}", "rel": 1} for turn in _places(asked["evidence"])]
    return corpus, queries, labels


def _turns(name: str, conversation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    sessions = [(int(found[1]), key) for key in conversation if (found := SESSION.fullmatch(key))]
    for number, key in sorted(sessions):
        title = f"{name} session {number}, {conversation.get(f'{key}_date_time', '')}".rstrip(", ")
        for turn in conversation[key]:
            [place] = _places([turn["dia_id"]])
            photo = f" [shares a photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            text = f"{turn['speaker']}: {turn['text']}{photo}"
            yield {"_id": f"{name}#{place}", "title": title, "text": text, "scope": name}


def _places(texts: Sequence[str]) -> list[str]:
    return [f"D{int(session)}:{int(turn)}" for text in texts for session, turn in TURN.findall(text)]
