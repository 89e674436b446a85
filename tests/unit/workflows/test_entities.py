"""What an intent names."""

from loci.core.json import Json
from loci.workflows.entities import as_known, from_context, givens, masked
from tests.support.each import each


@each(
    ("text", "kind", "value"),
    [
        ("Read config.json now", "path", "config.json"),
        ("Read src/app/main.py.", "path", "src/app/main.py"),
        ("Look into /var/log/app.log", "path", "/var/log/app.log"),
        ("Look into ~/notes.txt", "path", "~/notes.txt"),
        ("Look into ../a b", "path", "../a"),
        ("all files in src/", "path", "src/"),
        ("the files of the docs folder", "path", "docs"),
        ("List the directory build", "path", "build"),
        ("Find **/*.ts please", "glob", "**/*.ts"),
        ("Fetch https://example.com/a?b=c.", "url", "https://example.com/a?b=c"),
        ("Write to ann.lee+x@example.co.uk!", "email", "ann.lee+x@example.co.uk"),
        ("Since 2026-11-23", "date", "2026-11-23"),
        ("Since 2026-11-23T10:00:00Z", "date", "2026-11-23T10:00:00Z"),
        ("At 14:30 sharp", "time", "14:30"),
        ("Say 'it is done' to all", "quoted", "it is done"),
        ('Say "it\'s done"', "quoted", "it's done"),
        ("A branch called fix-1", "quoted", "fix-1"),
        ("Fork acme/site", "slug", "acme/site"),
        ("In Europe/Berlin", "slug", "Europe/Berlin"),
        ("Close PROJ-12", "key", "PROJ-12"),
        ("Look at issue #12", "number", 12),
        ("Wait 2.5 seconds", "number", 2.5),
        ("With name=web", "named", "web"),
        ("With replicas=3", "named", 3),
        ("With dry=true", "named", True),
        ("With name='a b'", "named", "a b"),
    ],
)
def test_a_value_is_known_by_its_form(text: str, kind: str, value: Json) -> None:
    assert [(one.kind, one.value) for one in givens(text)] == [(kind, value)]


@each("text", ["It's done, isn't it?", "Read the report", "version 2.x of it", "and/", "100% of it"])
def test_words_are_no_values(text: str) -> None:
    assert not [one for one in givens(text) if one.kind not in ("path", "number")]


def test_a_search_is_told_plain_words() -> None:
    text = "Read config.json from https://example.com and say 'well done'"
    assert masked(text, givens(text)) == "Read file from url and say"


def test_values_of_the_context_are_found_by_their_names() -> None:
    context: dict[str, Json] = {"discovered_files": ["a.xml", "b.xml"], "channel": "C1"}
    found = from_context(context, {"pars", "discov", "xml", "file"}, 0)
    assert [(one.kind, one.value, one.name) for one in found] == [
        ("path", "a.xml", "discovered_files"),
        ("path", "b.xml", "discovered_files"),
    ]


def test_a_text_of_the_context_stays_a_text() -> None:
    assert as_known("a=b").kind == "quoted"
    assert as_known(3).kind == "number"
