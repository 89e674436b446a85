"""Pairs of documents that say different values of the same thing: found with both values, and nothing else is."""

from collections.abc import Mapping

from loci.documents.document import Document
from loci.graph.contradictions import find_contradictions
from loci.graph.graph import build_graph
from loci.graph.statements import statements_in
from loci.markdown.nouns import Mention, Relation, WrittenLinks
from loci.search.ranking import Chunk
from tests.support.each import each

FILLER = {f"filler/{number}.md": f"# Note {number}\n\nWords about subject {number}.\n" for number in range(20)}


def found(
    notes: Mapping[str, str],
    *,
    properties: Mapping[str, tuple[str, ...]] | None = None,
    links: Mapping[str, tuple[Relation, str]] | None = None,
) -> list[tuple[str, str, set[str]]]:
    """The paths of each pair, and the two values."""
    documents, passages = list[Document](), list[Chunk]()
    for path, text in (FILLER | dict(notes)).items():
        title = text.partition("\n")[0].removeprefix("# ")
        marks = (properties or {}).get(path, ())
        documents.append(Document(path, path, None, title, (), None, "", 0, 0, 0, None, "", properties=marks))
        heading = tuple(line.lstrip("# ") for line in text.split("\n") if line.startswith("#"))
        passages.append(Chunk(f"{path}#0", path, path, title, heading[-1:], 1, text.count("\n"), text, "", ""))
    said = {
        path: WrittenLinks(mentions=(Mention(target, "path", relation, 1, ""),))
        for path, (relation, target) in (links or {}).items()
    }
    pairs = find_contradictions(build_graph(documents, said), passages, "2026-06-01")
    return [(one.one.path, one.other.path, {one.says.written, one.other_says.written}) for one in pairs]


@each(
    ("one", "other", "values"),
    [
        # Sentences in notes with other titles.
        (
            "# Backup policy\n\nNightly backups of the database are kept for 30 days.\n",
            "# Operations handbook\n\nThe nightly backups of the database are kept for 90 days.\n",
            {"30 days", "90 days"},
        ),
        ("# Checkout service\n\n- **Timeout:** 30 s\n", "# Checkout runbook\n\nTimeout: 60 s\n", {"30 s", "60 s"}),
        (
            "# Checkout gateway limits\n\n| setting | default |\n|---|---|\n| retries | 3 |\n",
            "# Checkout gateway limits\n\n| setting | default |\n|---|---|\n| retries | 5 |\n",
            {"3", "5"},
        ),
        (
            "# Harbour bridge\n\nThe harbour bridge opens for traffic on 2026-05-01.\n",
            "# Town roads\n\nThe harbour bridge opens for traffic on 3 June 2026.\n",
            {"2026-05-01", "2026-06-03"},
        ),
        ("# Ledger\n\nOwner: Anna Blum\n", "# Ledger service\n\n- Owner: Ben Roth\n", {"Anna Blum", "Ben Roth"}),
        (
            "# Storage\n\nThe default database for orders is PostgreSQL.\n",
            "# Decision 7\n\nThe default database for orders is `MySQL`.\n",
            {"PostgreSQL", "MySQL"},
        ),
        (
            "# Order queue\n\nWe use RabbitMQ for the order queue events.\n",
            "# Order events\n\nWe will use Kafka for the order queue events.\n",
            {"RabbitMQ", "Kafka"},
        ),
        (
            "# Mail relay\n\n- `relay_tls`: Encrypt mail. Default: `true`\n",
            "# Mail relay guide\n\n- `relay_tls`: Encrypt mail. Default: `false`\n",
            {"true", "false"},
        ),
        (
            "# Lager Nord\n\nDas Lager Nord fasst höchstens 1,200 Paletten.\n",
            "# Umzug\n\nDas Lager Nord fasst höchstens 900 Paletten.\n",
            {"1,200 Paletten", "900 Paletten"},
        ),
    ],
)
def test_different_values_of_one_thing_are_found(one: str, other: str, values: set[str]) -> None:
    assert found({"a.md": one, "b.md": other}) == [("a.md", "b.md", values)]


@each(
    ("one", "other"),
    [
        # The same value, written otherwise.
        (
            "# Pumps\n\nThe large pump moves 1,000 litres an hour.\n",
            "# Pump\n\nThe large pump moves 1000 litres an hour.\n",
        ),
        # Other things: another unit, another subject, a row of another table.
        ("# Gate\n\nThe harbour gate weighs 30 tons.\n", "# Gates\n\nThe harbour gate weighs 30 years.\n"),
        ("# Redis\n\nTimeout: 30 s\n", "# Postgres\n\nTimeout: 60 s\n"),
        ("# Staging\n\nThe staging cluster has 3 nodes.\n", "# Production\n\nThe production cluster has 9 nodes.\n"),
        # Another time, a case, an example, code, a quotation.
        ("# Fees\n\nThe berth fee was 30 coins for a week.\n", "# Fee\n\nThe berth fee is 40 coins for a week.\n"),
        ("# Crew\n\nThe night crew has 4 sailors.\n", "# Crews\n\nIf it storms, the night crew has 6 sailors.\n"),
        ("# Net\n\n```\nharbour net timeout = 3\n```\n", "# Nets\n\n```\nharbour net timeout = 4\n```\n"),
        ("# Sail\n\nThe main sail measures 40 metres.\n", "# Sails\n\n> The main sail measures 50 metres.\n"),
        # Numbers that are names.
        ("# Plan\n\nThe ferry plan follows ADR 12.\n", "# Plans\n\nThe ferry plan follows ADR 14.\n"),
        # A note that says several values itself.
        (
            "# Tank\n\nThe fuel tank holds 5 barrels.\n\nThe fuel tank holds 7 barrels.\n",
            "# Tanks\n\nThe fuel tank holds 9 barrels.\n",
        ),
    ],
)
def test_what_is_no_contradiction_is_left_out(one: str, other: str) -> None:
    assert found({"a.md": one, "b.md": other}) == []


BACKUPS = (
    "# Backups\n\nNightly backups are kept for 30 days.\n",
    "# Backup\n\nNightly backups are kept for 90 days.\n",
)


@each(
    ("path", "properties", "links"),
    [
        ("CHANGELOG.md", (), None),
        ("release-notes/two.md", (), None),
        ("meetings/monday.md", (), None),
        ("docs/v1.2/backups.md", (), None),
        ("b.md", ("status=draft",), None),
        ("b.md", ("status=deprecated",), None),
        ("b.md", ("valid_until=2026-01-01",), None),
        ("b.md", ("type=coding-session",), None),
        ("b.md", (), ("supersedes", "a.md")),
        ("b.md", (), ("superseded_by", "a.md")),
        ("b.md", (), ("amends", "a.md")),
    ],
)
def test_notes_that_do_not_hold_or_tell_of_their_time_contradict_nothing(
    path: str, properties: tuple[str, ...], links: tuple[Relation, str] | None
) -> None:
    old, new = BACKUPS
    assert found({"a.md": old, "c/b.md": new}) == [("a.md", "c/b.md", {"30 days", "90 days"})]
    assert found({"a.md": old, path: new}, properties={path: properties}, links={path: links} if links else None) == []


def test_a_status_in_the_text_and_a_form_that_many_fill_in_count_too() -> None:
    old, new = BACKUPS
    assert found({"a.md": f"{old}\n## Status\n\nSuperseded\n", "b.md": new}) == []
    form = {f"boats/{name}.md": f"# Boat {name}\n\nThe crew of the boat has {len(name)} sailors.\n" for name in
            ("ada", "bert", "clara", "doro", "emilia", "frederic")}  # fmt: skip
    assert found(form) == []


def test_fields_of_the_front_matter_count_but_not_those_of_the_note_itself() -> None:
    notes = {"a.md": "# Harbour crane\n\nText.\n", "b.md": "# Harbour crane\n\nOther text.\n"}
    own = {"a.md": ("weight=3", "date=2026-01-01"), "b.md": ("weight=4", "date=2026-02-01")}
    assert found(notes, properties=own) == []
    said = {"a.md": ("owner=anna",), "b.md": ("owner=ben",)}
    assert found(notes, properties=said) == [("a.md", "b.md", {"Anna", "Ben"})]


def test_a_statement_knows_its_line_and_its_words() -> None:
    [one] = statements_in("# T\n\n- The **lock** waits [40 ms](x.md) for the tide.", 7, "T")
    assert (one.line, one.kind, one.value, one.unit, one.quote) == (
        9,
        "number",
        "40",
        "ms",
        "The lock waits 40 ms for the tide.",
    )
    assert one.words == {"lock", "wait", "tide"}
