"""The YAML block at the top of a document."""

from loci.markdown.front_matter import FrontMatter, read_front_matter
from tests.support.each import each

LAUGHS = [
    "a: &a [x,x,x,x,x,x,x,x,x]",
    *(f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)),
]
MERGES = [
    "a: &a {k: v}",
    *(f"{new}: &{new} {{<<: [{','.join([f'*{old}'] * 9)}]}}" for old, new in zip("abcdefgh", "bcdefghi", strict=True)),
]


def read(*lines: str) -> FrontMatter:
    return read_front_matter(["---", *lines, "---", "text"])


def test_values_are_told_as_they_are_written() -> None:
    assert read("Date: 2026-01-17", "n: 010", "yes: no").fields == {
        "date": ("2026-01-17",),
        "n": ("010",),
        "yes": ("no",),
    }


def test_lists_are_several_values() -> None:
    assert read("a: [b, c]", "d:", "  - e", "  - f").fields == {"a": ("b", "c"), "d": ("e", "f")}


@each("nothing", ["", "~", "null"])
def test_a_field_without_a_value_has_none(nothing: str) -> None:
    assert read(f"title: {nothing}").first("title") is None


def test_text_without_front_matter_has_none() -> None:
    assert read_front_matter(["text", "---", "a: b", "---"]) == FrontMatter()


def test_text_between_two_rules_is_text() -> None:
    assert read("", "Just a sentence.", "").lines == 0


def test_a_rule_at_the_top_is_no_front_matter() -> None:
    assert read_front_matter(["---", "", "text"]) == FrontMatter()


def test_a_front_matter_without_an_end_is_told() -> None:
    problem = read_front_matter(["---", "title: x", "", "text"]).problem
    assert problem is not None


@each(
    ("lines", "line"),
    [
        (["title: Auth: the fix"], 2),
        (["a: b", "\tc: d"], 3),
        (["a: 'b"], 2),
        (["a: [b"], 3),
        (["[a]: b"], 2),
        (["a: *b"], 2),
    ],
)
def test_a_broken_front_matter_is_told_with_its_line(lines: list[str], line: int) -> None:
    found = read(*lines)
    assert found.problem is not None
    assert (found.fields, found.lines, found.problem.line) == ({}, len(lines) + 2, line)


@each("lines", [LAUGHS, MERGES])
def test_aliases_that_multiply_are_not_followed(lines: list[str]) -> None:
    assert sum(map(len, read(*lines).fields.values())) < 1000


@each(
    "bomb",
    [
        "a: " + "[" * 30_000,
        "- " * 30_000 + "x",
        "? " * 30_000 + "x",
        "a: " + "{b: " * 10_000,
        "a: &a [*a]",
        "a: \x01",
        "x" * 100_000 + ": y",
    ],
)
def test_what_was_made_to_break_yaml_is_told(bomb: str) -> None:
    assert read(bomb).problem is not None


def test_no_object_is_made() -> None:
    assert read("a: !!python/object/apply:os.system ['true']").fields == {"a": ("true",)}
