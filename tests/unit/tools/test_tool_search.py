"""Finding tools by what somebody wants to do."""

import numpy as np
from numpy.typing import NDArray

from loci.core.json import JsonObject
from loci.gateway.tool_embeddings import cosines, embedded_text, text_hash
from loci.gateway.tool_search import FoundTool, KnownTool, ToolIndex, nothing_fits
from tests.support.each import each

PATH: JsonObject = {"type": "string", "description": "Where it lies on the disk"}
SCHEMA: JsonObject = {"type": "object", "properties": {"path": PATH}}
READ = KnownTool("filesystem:read_file", "Read File", "Read the complete contents of a file as text.", SCHEMA)
LIST = KnownTool("filesystem:list_directory", "", "List the entries of a directory.", SCHEMA)
ISSUE = KnownTool("github:create_issue", "", "Create a new issue in a repository.", {"type": "object"})
SAME = KnownTool("gitlab:create_issue", "", "Create a new issue in a repository.", {"type": "object"})
ROUTE = KnownTool("maps:directions", "", "Get the way between two places.", {"type": "object"})
TOOLS = [ROUTE, SAME, ISSUE, LIST, READ]


def ids(found: list[FoundTool]) -> list[str]:
    return [one.tool.id for one in found]


@each("query", ["filesystem:read_file", "read_file", "filesystem_read_file", "Read File", "readFile", "READ-FILE"])
def test_a_tool_whose_name_is_asked_for_comes_first(query: str):
    [first, *_] = ToolIndex(TOOLS).find(query, 5)
    assert (first.tool, first.name >= 0.9, first.score >= 0.95) == (READ, True, True)


def test_an_id_scores_more_than_the_same_name_on_another_server():
    first, second, *_ = ToolIndex(TOOLS).find("gitlab:create_issue", 5)
    assert (first.tool, first.score) == (SAME, 1.0)
    assert second.score < first.score


def test_tools_that_fit_the_same_come_in_the_order_of_their_ids():
    assert ids(ToolIndex(TOOLS).find("open an issue", 2)) == ["github:create_issue", "gitlab:create_issue"]


def test_a_tool_is_found_by_a_word_in_another_form():
    assert ids(ToolIndex(TOOLS).find("listing directories", 1)) == ["filesystem:list_directory"]


def test_a_tool_is_found_by_a_word_of_about_the_same_meaning():
    assert ids(ToolIndex(TOOLS).find("what is in this folder", 1)) == ["filesystem:list_directory"]


def test_a_tool_is_found_by_what_its_parameters_say():
    assert set(ids(ToolIndex(TOOLS).find("something on the disk", 5))) == {READ.id, LIST.id}


def test_a_tool_is_found_by_chinese_words():
    tool = KnownTool("files:du", "", "读取文件内容", {"type": "object"})
    assert ids(ToolIndex([*TOOLS, tool]).find("文件", 1)) == ["files:du"]


def test_a_request_that_shares_nothing_with_any_tool_finds_nothing():
    assert ToolIndex(TOOLS).find("play a song", 5) == []


def test_probably_nothing_fits_if_hardly_a_word_of_the_request_is_there():
    found = ToolIndex(TOOLS).find("somebody plays loud disk music between concerts", 5)
    assert (bool(found), nothing_fits(found), nothing_fits([])) == (True, True, True)


def test_a_tool_that_has_the_words_of_the_request_fits():
    assert not nothing_fits(ToolIndex(TOOLS).find("create an issue", 5))


def test_no_tools_are_found_among_none():
    assert ToolIndex([]).find("read a file", 5) == []


def test_the_reason_says_which_words_are_where():
    [found] = ToolIndex(TOOLS).find("show the directories", 1)
    assert found.why == "has list for show (name, description); directories (name, description)"


def test_the_reason_says_that_the_request_is_a_name():
    [found] = ToolIndex(TOOLS).find("maps:directions", 1)
    assert found.why == "the request is its id"


def test_the_reason_says_that_a_tool_is_near_in_meaning():
    [found] = ToolIndex(TOOLS).find("drive to Munich", 1, NEAR)
    assert found.why == "is near in meaning (1.00)"


def test_what_was_used_before_changes_the_order_of_equals():
    assert ids(ToolIndex(TOOLS).find("new issue", 1, boost={SAME.id: 0.1})) == [SAME.id]


def test_what_was_used_before_brings_no_tool_that_does_not_fit():
    assert READ.id not in ids(ToolIndex(TOOLS).find("new issue", 5, boost={READ.id: 1.0}))


def test_a_boost_never_lifts_a_score_above_that_of_a_name():
    [found] = ToolIndex(TOOLS).find("new issue repository", 1, boost={SAME.id: 9.0})
    assert found.score <= 0.95


def unit(*values: float) -> NDArray[np.float64]:
    row = np.array([*values, *[0.0] * (8 - len(values))])
    return row / np.linalg.norm(row)


VECTORS = {
    one.id: unit(1.0, number).astype("<f2").tobytes() for number, one in enumerate([ROUTE, READ, LIST, ISSUE, SAME])
}
ASKED = unit(1.0).astype("<f4").tobytes()
NEAR = cosines(VECTORS, ASKED)


def test_a_tool_that_shares_no_word_is_found_by_its_meaning():
    [found] = ToolIndex(TOOLS).find("drive to Munich", 1, NEAR)
    assert (found.tool, round(found.meaning, 2), found.words) == (ROUTE, 1.0, 0.0)


def test_a_long_request_is_ranked_by_the_rare_words_that_it_has():
    """Its other words are in no tool: that is no reason to prefer the tool that is nearest in meaning."""
    asked = "before dinner my cousin wants quickly some entries of the directory listed, tomorrow or whenever he likes"
    near = {ROUTE.id: 0.5, LIST.id: 0.3}
    assert ids(ToolIndex(TOOLS).find(asked, 1, near)) == [LIST.id]


def test_a_tool_without_a_vector_yet_is_ranked_by_its_words():
    vectors = {one.id: unit(0.5, 1.0).astype("<f2").tobytes() for one in (ROUTE, LIST)}
    assert ids(ToolIndex(TOOLS).find("read a file", 1, cosines(vectors, ASKED))) == [READ.id]


def test_vectors_of_another_model_are_left_aside():
    assert cosines(VECTORS, ASKED * 2) == {}


def test_all_scores_are_between_0_and_1_and_never_rise():
    scores = [one.score for one in ToolIndex(TOOLS).find("read a file in a directory", 9, NEAR)]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] <= scores[0] <= 1


def test_a_changed_description_changes_the_hash_of_the_embedded_text():
    changed = KnownTool(READ.id, READ.title, "Reads nothing.", READ.input_schema)
    assert text_hash(changed) != text_hash(READ) == text_hash(KnownTool(READ.id, READ.title, READ.description, SCHEMA))


def test_the_embedded_text_has_the_name_in_words():
    assert "read file" in embedded_text(READ)


def test_the_embedded_text_has_the_names_of_the_parameters():
    assert embedded_text(READ).endswith("(path)")
