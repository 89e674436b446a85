"""What every `Embedder` and `Reranker` does."""

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from loci.core.errors import Unavailable
from loci.search.inference import Embedding
from tests.contract.inferences import ADAPTERS, PARAMETERS, Inference
from tests.contract.stores import SURROGATE, at_once
from tests.support.each import each
from tests.support.small_models import EMBEDDER, LONGEST, RERANKER, WIDTH, small_models

__all__ = ["small_models"]

ENDS = 2
TEXTS = ["a cat", "the memory", "", "search", "zebras run; 42 of them", "memory search the memory", "x"]
ODD = ["", " ", "\0", "🐎", SURROGATE, "寿司", "\n\n", "a" * 120, "½", "e\u0301"]


@pytest.fixture(scope="module", params=PARAMETERS)
def inference(request: pytest.FixtureRequest, small_models: Path) -> Iterator[Inference]:
    with ADAPTERS[request.param](small_models) as opened:
        yield opened


@pytest.fixture(scope="module", params=PARAMETERS)
def empty(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inference]:
    with ADAPTERS[request.param](tmp_path_factory.mktemp("none")) as opened:
        yield opened


def half(raw: bytes) -> npt.NDArray[np.float64]:
    return np.frombuffer(raw, "<f2").astype("f8")


def single(raw: bytes) -> npt.NDArray[np.float64]:
    return np.frombuffer(raw, "<f4").astype("f8")


def alike(some: list[Embedding], others: list[Embedding]) -> bool:
    """The padding of a batch shows in the last bit."""
    pairs = zip(some, others, strict=True)
    return all(np.allclose(half(one.vector), half(other.vector), atol=1e-3) for one, other in pairs)


def test_the_models_are_described(inference: Inference) -> None:
    assert str(inference.reranker.model()).startswith(f"{RERANKER}@")
    model = inference.embedder.model()
    assert model is not None
    assert model.identity.startswith(f"{EMBEDDER}@")
    assert inference.embedder.passages(["a"])[0].model == model.identity
    assert inference.embedder.query("a").model == model.identity
    assert (model.dimensions, model.longest, model.scripts) == (WIDTH, LONGEST - ENDS, ("LATIN",))


def test_without_a_model_it_is_said_what_to_do(empty: Inference) -> None:
    assert (empty.embedder.model(), empty.reranker.model()) == (None, None)
    for said, kind in ((empty.embedder.missing(), "embedder"), (empty.reranker.missing(), "reranker")):
        assert f"no {kind}" in said.lower()
        assert "loci models pull" in said or "Build its image" in said
    with pytest.raises(Unavailable, match=r"loci models pull bge-small-en-v1\.5"):
        empty.embedder.query("a")
    with pytest.raises(Unavailable, match=r"loci models pull bge-small-en-v1\.5"):
        empty.embedder.passages(["a"])
    with pytest.raises(Unavailable, match="loci models pull bge-reranker-base"):
        empty.reranker.scores("a", ["b"], seconds=1)


def test_each_text_has_the_embedding_that_it_has_alone(inference: Inference) -> None:
    together = inference.embedder.passages(TEXTS)
    alone = [inference.embedder.passages([text])[0] for text in TEXTS]
    assert alike(together, alone)
    assert [len(one.bits) for one in together] == [len(one.bits) for one in alone]


def test_many_texts_come_back_in_their_order(inference: Inference) -> None:
    texts = [chr(97 + number % 26) * (1 + number % 40) for number in range(300)]
    assert alike(inference.embedder.passages(texts)[150:160], inference.embedder.passages(texts[150:160]))


def test_vectors_are_normalised(inference: Inference) -> None:
    assert np.linalg.norm(half(inference.embedder.passages(["the cat"])[0].vector)) == pytest.approx(1, abs=1e-3)
    query = inference.embedder.query("the cat")
    assert np.linalg.norm(single(query.vector)) == pytest.approx(1, abs=1e-6)
    lengths = np.linalg.norm(single(query.tokens).reshape(-1, WIDTH), axis=1)
    assert lengths == pytest.approx(np.ones(len(lengths)), abs=1e-6)


def test_a_query_is_near_the_passage_that_says_the_same(inference: Inference) -> None:
    passage, query = inference.embedder.passages(["the memory"])[0], inference.embedder.query("the memory")
    assert half(passage.vector) @ single(query.vector) > 0.999


@each(("text", "tokens"), [("the", 1), ("the memory", 2), ("the memory search", 3), ("abc de", 5)])
def test_two_tokens_share_their_bits(inference: Inference, text: str, tokens: int) -> None:
    assert len(inference.embedder.passages([text])[0].bits) == math.ceil(tokens / 2) * WIDTH // 8
    assert len(single(inference.embedder.query(text).tokens)) == tokens * WIDTH


def test_each_word_of_a_query_has_its_place(inference: Inference) -> None:
    asked = inference.embedder.query("the memory, abc")
    assert len(asked.spans) == len(single(asked.tokens)) // WIDTH
    assert {"the memory, abc"[start:end] for start, end in asked.spans} >= {"the", "memory"}


def test_bits_are_the_signs_of_neighbours_together(inference: Inference) -> None:
    tokens = single(inference.embedder.query("the memory search").tokens).reshape(3, WIDTH)
    wanted = np.stack([tokens[0] + tokens[1], tokens[2]]) > 0
    bits = np.frombuffer(inference.embedder.passages(["the memory search"])[0].bits, np.uint8)
    assert np.array_equal(np.unpackbits(bits).reshape(2, WIDTH), wanted)


def test_what_lies_behind_the_longest_input_changes_nothing(inference: Inference) -> None:
    long, longer = inference.embedder.passages(["a " * 100, "a " * 100_000 + "z"])
    assert long == longer
    assert len(long.bits) == (LONGEST - ENDS) // 2 * WIDTH // 8
    assert len(single(inference.embedder.query("a " * 100_000).tokens)) == (LONGEST - ENDS) * WIDTH


@each("text", ODD)
def test_any_text_has_an_embedding(inference: Inference, text: str) -> None:
    [made] = inference.embedder.passages([text])
    assert np.isfinite(half(made.vector)).all()
    assert made.bits
    assert inference.embedder.query(text).tokens


def test_no_texts_have_no_embeddings(inference: Inference) -> None:
    assert inference.embedder.passages([]) == []
    assert inference.embedder.count([]) == []
    assert inference.reranker.scores("a", [], seconds=1) == []


def test_tokens_of_a_text_of_any_length_are_counted_without_those_at_the_ends(inference: Inference) -> None:
    assert inference.embedder.count(["the", "", "the memory", "abc"]) == [1, 0, 2, 3]
    assert inference.embedder.count(["the " * 200_000, "the"]) == [200_000, 1]


def test_threads_may_ask_at_the_same_time(inference: Inference) -> None:
    wanted = inference.embedder.query("the memory")
    assert at_once(8, lambda _: inference.embedder.query("the memory")) == [wanted] * 8


def test_relevance_is_between_0_and_1_and_does_not_hang_on_the_other_texts(inference: Inference) -> None:
    together = inference.reranker.scores("memory", TEXTS, seconds=60)
    assert len(together) == len(TEXTS)
    assert all(0 < score < 1 for score in together)
    assert len(set(together)) == len(TEXTS)
    alone = [inference.reranker.scores("memory", [text], seconds=60)[0] for text in TEXTS]
    assert together == pytest.approx(alone, abs=1e-5)


def test_the_first_is_read_when_there_is_no_time(inference: Inference) -> None:
    texts = [f"text {number}" for number in range(3)]
    all_of_them = inference.reranker.scores("memory", texts, seconds=60)
    assert inference.reranker.scores("memory", texts, seconds=0) == all_of_them[:1]


def test_of_a_long_query_the_passage_keeps_its_room(inference: Inference) -> None:
    one, other = inference.reranker.scores("q " * 200, ["the", "memory"], seconds=60)
    assert one != other


@each("text", ODD)
def test_any_text_has_a_relevance(inference: Inference, text: str) -> None:
    [score] = inference.reranker.scores(text, [text], seconds=60)
    assert 0 <= score <= 1


def test_without_a_model_tokens_are_estimated(empty: Inference) -> None:
    nothing, two_words, six_characters = empty.embedder.count(["", "one two", "寿司を食べる"])
    assert nothing == 0
    assert 2 <= two_words <= 3
    assert 6 <= six_characters <= 8
