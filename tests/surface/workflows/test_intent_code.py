"""Plans with code of Loci's own. On AWS they run in the deployed stack's tests: code needs its functions."""

from pathlib import Path

import pytest

from tests.surface.workflows.conftest import Flow

pytestmark = pytest.mark.anyio


async def test_all_typescript_files_are_read_and_their_lines_counted(flow: Flow, folder: Path) -> None:
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "a.ts").write_text("one\n---\nthree\n")
    (folder / "src" / "deep" / "b.tsx").write_text("one\n\n\n")
    (folder / "src" / "c.js").write_text("one\n")
    answer = await flow.answer("pml_execute_dag", intent="Read all TypeScript files in src/ and count lines")
    assert answer["status"] == "complete"
    counted = answer["results"]["t1"]
    assert {Path(one["path"]).name: one["lines"] for one in counted["files"]} == {"a.ts": 3, "b.tsx": 3}
    assert (counted["total_files"], counted["total_lines"]) == (2, 6)


async def test_the_results_of_a_run_are_given_to_code_as_they_are(flow: Flow, folder: Path) -> None:
    (folder / "src").mkdir()
    (folder / "src" / "a.ts").write_text("one\ntwo\n")
    (folder / "src" / "b.ts").write_text("one\ntwo\nthree\nfour\n")
    run = await flow.answer("pml_execute_dag", intent="Read all TypeScript files in src/ and count lines")
    code = """
        const files = Object.values(context.files).flatMap((one) => one.files ?? []);
        return {
          totalFiles: files.length,
          totalLines: files.reduce((sum, f) => sum + f.lines, 0),
          avgLinesPerFile: Math.round(files.reduce((sum, f) => sum + f.lines, 0) / files.length)
        };
    """
    answer = await flow.answer("pml_execute_code", code=code, context={"files": run["results"]})
    assert answer["result"] == {"totalFiles": 2, "totalLines": 6, "avgLinesPerFile": 3}


async def test_a_search_that_finds_no_file_ends_with_why(flow: Flow, folder: Path) -> None:
    (folder / "src").mkdir()
    answer = await flow.answer("pml_execute_dag", intent="Read all TypeScript files in src/ and count lines")
    assert answer["status"] == "error"
    assert "Nothing was found" in answer["tasks"][0]["error"]
