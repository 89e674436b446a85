"""Notes in several languages are found by words in another form than theirs, on words alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from loci.app import App
from loci.core.identity import LOCAL
from loci.documents.checks import check_documents
from loci.documents.ingest.index_writer import COLLECTION
from loci.search.languages import FORM
from loci.search.ranking import TagsAndDate
from tests.surface.conftest import Connect
from tests.surface.files.searches import add, names, search
from tests.surface.results import call, written
from tests.surface.runtimes import RUNTIMES, take_in

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("app", RUNTIMES, indirect=True)]

NOTES = {
    "de.md": "# Ablage\n\nDie Rechnung ist für die Häuser am See, und sie wurde noch nicht bezahlt.\n",
    "ru.md": "# Архив\n\nМы подписали договор с поставщиком, и он хранится в сейфе.\n",
    "tr.md": "# Arşiv\n\nBu sözleşme çok önemli ve her müşteri için bir kopya var.\n",
    "fr.md": "# Dossier\n\nNous avons vu l'hôpital avec les médecins, et il est dans la ville.\n",
    "el.md": "# Αρχείο\n\nΗ σύμβαση είναι στο συρτάρι και δεν έχει λήξει.\n",
    "ar.md": "# أرشيف\n\nتم حفظ الفاتورة في الخزانة مع الرسائل.\n",
    "en.md": "# Archive\n\nThe mat is in the hall, and the logs of the errors are with the captain.\n",
}


@pytest.fixture
def folder(app: App, tmp_path: Path) -> Path:
    folder = written(tmp_path / "notes", NOTES)
    take_in(app, folder)
    return folder


async def found(connect: Connect, question: str) -> list[str]:
    """The names of the notes that a search finds."""
    results = (await call(connect, "search_documents", query=question))["results"]
    return [one["path"].removeprefix("notes/") for one in results]


@pytest.mark.usefixtures("folder")
async def test_another_form_of_a_word_finds_it_in_each_language(connect: Connect) -> None:
    asked = {
        "Rechnungen": "de.md",
        "RECHNUNGEN": "de.md",
        "Haus": "de.md",
        "Wo sind die Rechnungen?": "de.md",
        "договоры": "ru.md",
        "где лежат наши договоры": "ru.md",
        "sözleşmeler": "tr.md",
        "sozlesmeler": "tr.md",
        "hôpitaux et médecin": "fr.md",
        "hopital": "fr.md",
        "συμβάσεις": "el.md",
        "فاتورة": "ar.md",
        "captains": "en.md",
    }
    assert {question: await found(connect, question) for question in asked} == {
        question: [name] for question, name in asked.items()
    }


@pytest.mark.usefixtures("folder")
async def test_a_stem_of_another_language_finds_no_english_word(connect: Connect) -> None:
    # Words whose stems in French and in Romance languages are "mat" and "log".
    assert {question: await found(connect, question) for question in ("mate", "logo")} == {"mate": [], "logo": []}


@pytest.mark.usefixtures("folder")
async def test_a_passage_with_a_form_of_each_word_has_the_words(connect: Connect) -> None:
    [best, *_] = (await call(connect, "search_documents", query="Rechnungen Haus"))["results"]
    assert (best["path"], best["match"]) == ("notes/de.md", "strong")


async def test_a_file_is_found_by_another_form_of_a_word(app: App, connect: Connect) -> None:
    add(app, "ablage.md", NOTES["de.md"])
    add(app, "archive.md", NOTES["en.md"])
    answer = await search(connect, "Rechnungen")
    assert (names(answer), "Rechnung" in answer["results"][0]["passages"][0]["text"]) == (["ablage.md"], True)


async def test_an_index_that_was_cut_by_english_rules_is_cut_again_by_itself(
    app: App, connect: Connect, folder: Path
) -> None:
    parts = app.documents.parts
    for document, version in list(parts.catalog.with_versions(LOCAL)):
        chunks = [
            replace(one, words=" ".join(word for word in one.words.split() if not word.startswith(FORM)))
            for one in parts.index.chunks(LOCAL, COLLECTION, [f"{document.id}#0"]).values()
        ]
        parts.index.put(LOCAL, COLLECTION, document.id, chunks, TagsAndDate())
        parts.catalog.put(LOCAL, replace(document, parser_version=7), version)
    assert await found(connect, "Rechnungen") == []
    assert "7 of 7 were read by an older version" in check_documents(app, LOCAL).what
    english = parts.index.chunks(LOCAL, COLLECTION, ["notes-en#0"])
    app.documents.upkeep.read_again(LOCAL, lambda: False)
    assert await found(connect, "Rechnungen") == ["de.md"]
    assert check_documents(app, LOCAL).what == "7"
    assert parts.index.chunks(LOCAL, COLLECTION, ["notes-en#0"]) == english
    assert folder.is_dir()
