"""Searches with a real model through the documents' tools: what is found by sense, and how sure the scores are."""

import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

import loci
from loci.app import App
from loci.compose import build_app
from loci.core.identity import LOCAL
from loci.core.settings import load_settings
from loci.mcp.server import build_server
from loci.model_store.models import MULTILINGUAL, ModelsFolder, known
from loci.model_store.pull import pull
from loci.search.ranking import LEVELS
from tests.support.minilm import NOWHERE
from tests.surface.results import structured

pytestmark = [pytest.mark.anyio, pytest.mark.models]

EXAMPLE = Path(loci.__file__).parent / "example"
# None has the words of its answer's title.
QUESTIONS = {
    "Do people have to pay when they bring a drill back too late?": "example-decisions-no-late-fees",
    "What must I do when a power pack bulges and is too warm?": "example-playbooks-swollen-battery",
    "Why was everybody told the wrong hour in autumn?": "example-incidents-2024-10-27-clock-change",
}
NONSENSE = ("quantum entanglement of penguins", "Which pope crowned the emperor of Brazil?", "zxqv wblorp")


@pytest.fixture(scope="module")
def example(minilm: ModelsFolder, tmp_path_factory: pytest.TempPathFactory) -> App:
    """The example collection, embedded."""
    app = build_app(load_settings({"data": tmp_path_factory.mktemp("data"), "models": minilm.folder}))
    app.documents.parts.ingest.run(LOCAL, [str(EXAMPLE)])
    return app


async def search(app: App, query: str) -> Any:
    async with Client(build_server(app)) as client:
        return structured(await client.call_tool("search_documents", {"query": query, "explain": True}))


@pytest.mark.parametrize("question", QUESTIONS)
async def test_an_answer_in_other_words_is_found(example: App, question: str) -> None:
    found = await search(example, question)
    assert QUESTIONS[question] in [row["id"] for row in found["results"][:6]]
    assert found["metadata"]["match"] in ("strong", "possible")
    assert found["results"][0]["source"] == "hybrid"


@pytest.mark.parametrize("question", QUESTIONS)
async def test_results_fall_by_match_then_by_score_and_each_has_a_score_of_its_own(example: App, question: str) -> None:
    found = [(LEVELS.index(row["match"]), -row["score"]) for row in (await search(example, question))["results"]]
    assert found == sorted(found)
    assert len({score for _, score in found[:5]}) == 5
    assert found[0][1] < 2 * found[-1][1]


@pytest.mark.parametrize("question", NONSENSE)
async def test_nothing_relevant_is_an_answer_that_names_the_nearest(example: App, question: str) -> None:
    found = await search(example, question)
    assert found["results"] == []
    assert re.search(r'is the best score.*\. The nearest are "[^"]+" \(example-', found["metadata"]["reason"])


async def test_a_question_about_somebody_unknown_is_refused_and_says_whom_no_document_names(example: App) -> None:
    asked = "What does {} think about the opening hours on Saturday?"
    unknown, known = [await search(example, asked.format(name)) for name in ("Wanda Krol", "everybody")]
    assert (unknown["results"], bool(known["results"])) == ([], True)
    assert "none has the name Wanda or Krol. The nearest are" in unknown["metadata"]["reason"]


async def test_what_was_said_word_for_word_comes_first(example: App) -> None:
    [best, *_] = (await search(example, "members skipped the safety page"))["results"]
    assert best["id"] == "example-debriefs-2024-11-25-self-checkout"
    assert best["score"] > 0.8


async def test_a_question_in_another_script_names_the_model_that_knows_it(example: App) -> None:
    found = await search(example, "Что делать, если батарея вздулась?")
    [vector] = [stage for stage in found["metadata"]["stages"] if stage["stage"] == "vector"]
    assert not vector["ran"]
    assert "loci models pull multilingual-e5-small" in vector["note"]
    assert "embeds all documents again" in vector["note"]


# Of notes in English.
IN_OTHER_LANGUAGES = {
    "电池鼓起来了怎么办": "example-playbooks-swollen-battery",
    "Müssen Leute zahlen, die eine Bohrmaschine zu spät zurückbringen?": "example-decisions-no-late-fees",
    "Почему осенью всем сообщили неправильное время?": "example-incidents-2024-10-27-clock-change",
}


IN_CHINESE = {
    "keys": "备用钥匙放在哪里\n\n李伟把仓库的备用钥匙放在二楼办公室的蓝色抽屉里。2023 年换过一次锁。",
    "lunch": "食堂菜单\n\n星期三中午供应面条和蔬菜。星期五有鱼。",
    "train": "去上海的火车\n\n早上八点的高铁从南站出发。车程四个半小时。",
}


async def test_a_question_in_another_language_finds_the_answer_with_the_model_that_knows_it(tmp_path: Path) -> None:
    pull(known(MULTILINGUAL), ModelsFolder(tmp_path / "models"), NOWHERE)
    settings = {"data": tmp_path / "data", "models": tmp_path / "models", "embedder": MULTILINGUAL}
    app = build_app(load_settings(settings))
    app.documents.parts.ingest.run(LOCAL, [str(EXAMPLE)])
    for question, answer in IN_OTHER_LANGUAGES.items():
        assert answer in [row["id"] for row in (await search(app, question))["results"][:3]], question
    # Names are written in other letters there, and a number is no word in common.
    app = build_app(load_settings({**settings, "data": tmp_path / "chinese"}))
    (notes := tmp_path / "notes").mkdir()
    for name, text in IN_CHINESE.items():
        (notes / f"{name}.md").write_text(f"# {text}\n", encoding="utf-8")
    app.documents.parts.ingest.run(LOCAL, [str(notes)])
    [first, *_] = (await search(app, "Which year did Li Wei change locks, 2022 or 2023?"))["results"]
    assert first["id"].endswith("keys")


async def test_the_stages_say_what_ran(example: App) -> None:
    found = await search(example, "batteries")
    ran = {stage["stage"]: stage["ran"] for stage in found["metadata"]["stages"]}
    assert ran == {"vector": True, "words": True, "late": True, "rerank": False, "language_model": False}
