"""The steps of an intent."""

from loci.workflows.intent import clauses
from tests.support.each import each


@each(
    ("intent", "steps"),
    [
        (
            "Read config.json and create a memory entity with its content",
            ["Read config.json", "create a memory entity with its content"],
        ),
        ("Read a.txt, then delete it", ["Read a.txt", "delete it"]),
        ("1. Read a.json 2. Read b.json", ["Read a.json", "Read b.json"]),
        ("- read a.txt\n- count its lines", ["read a.txt", "count its lines"]),
        ("Read a.txt. Write it to b.txt.", ["Read a.txt", "Write it to b.txt"]),
        ("Read a.txt, b.txt and c.txt", ["Read a.txt, b.txt and c.txt"]),
        ("Please list the issues; finally close #3", ["list the issues", "close #3"]),
        ("Say 'stop, then delete all' again", ["Say 'stop, then delete all' again"]),
        ("Fetch https://a.org/x,then/y and save it", ["Fetch https://a.org/x,then/y", "save it"]),
        ("Write the content of a.txt to b.txt", ["read a.txt", "Write its content to b.txt"]),
        ("Show me the content of a.txt", ["Show me the content of a.txt"]),
        ("Search for salt and pepper", ["Search for salt and pepper"]),
        ("", list[str]()),
        (" . ", list[str]()),
    ],
)
def test_an_intent_is_split_where_another_step_begins(intent: str, steps: list[str]) -> None:
    assert [one.text for one in clauses(intent)] == steps


def test_a_step_knows_its_verb_and_whether_it_comes_after() -> None:
    found = clauses("List the issues and read a.txt, then delete it")
    assert [(one.verb, one.is_after) for one in found] == [("list", False), ("read", False), ("delet", True)]


def test_the_verb_may_stand_after_the_name_of_a_server() -> None:
    assert clauses("Git commit in /repo")[0].verb == "commit"
    assert clauses("The weather tomorrow")[0].verb == ""
