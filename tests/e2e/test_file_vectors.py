"""The vectors of files: they follow the words, and a call that has too little time keeps those it made."""

from collections.abc import Generator
from pathlib import Path

import pytest

from loci.compose import build_app
from loci.core.deadline import within
from loci.core.errors import OutOfTime
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from tests.e2e.test_files_on_aws import Deployed, deployment
from tests.support.small_models import small_models

__all__ = ["small_models"]
LONG = "".join(f"# Part {number}\n\nHere stands the word number{number}.\n\n" for number in range(300))


@pytest.fixture
def deployed(small_models: Path) -> Generator[Deployed]:
    with deployment(small_models) as made:
        yield made


def test_on_aws_the_ingestion_makes_the_vectors_of_a_text_that_is_found_by_its_words_already(
    deployed: Deployed,
) -> None:
    added = deployed.app.files.add(LOCAL, "trip.md", b"The ferry to Anholt costs 40 euros.\n")
    assert (added.newest.status, added.newest.model) == ("okay", None)
    assert deployed.found("ferry to Anholt") == ["trip.md"]
    assert deployed.take(*deployed.waiting()) == []
    model = deployed.app.files.parts.embedder.model()
    assert model is not None
    assert deployed.file("trip.md").newest.model == model.identity
    assert deployed.waiting() == []


def test_a_call_without_time_keeps_the_vectors_that_it_made(small_models: Path, tmp_path: Path) -> None:
    app = build_app(load_settings({"data": tmp_path, "models": small_models}))
    file = app.files.add(LOCAL, "long.md", LONG.encode())
    calls = 0
    while app.files.status(LOCAL, [file.id])[0].newest.model is None:
        calls += 1
        assert calls <= 3
        try:
            with within(1e-6):
                app.files.parts.ingest.embed(LOCAL, file.id)
        except OutOfTime:
            pass
    assert calls == 3
    app.close()
