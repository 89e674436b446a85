"""`loci tools capabilities` and `loci skills`, on code that `loci call` ran."""

import json
from pathlib import Path

import yaml

from tests.support.deno import needs_deno
from tests.support.serving import loci

pytestmark = needs_deno
RUN = json.dumps(
    {"code": "return context.rows.slice(1, 30)", "intent": "leave out the first row", "context": {"rows": [1, 2]}}
)


def test_learned_code_is_listed_shown_and_removed(tmp_path: Path) -> None:
    assert "Nothing is learned yet" in loci(tmp_path, "tools", "capabilities", "list").stdout
    for _ in range(2):
        assert loci(tmp_path, "call", "pml_execute_code", RUN).returncode == 0
    [one] = json.loads(loci(tmp_path, "tools", "capabilities", "list", "--json").stdout)["capabilities"]
    assert (one["intent"], one["reuse_count"]) == ("leave out the first row", 1)
    assert f"{one['id']}  leave out the first row\n" in loci(tmp_path, "tools", "capabilities", "list").stdout
    called = json.loads(loci(tmp_path, "call", "pml_search_capabilities", json.dumps({"intent": one["id"]})).stdout)
    assert json.loads(loci(tmp_path, "tools", "capabilities", "show", one["id"], "--json").stdout) == called
    assert one.items() <= called["capabilities"][0].items()
    shown = loci(tmp_path, "tools", "capabilities", "show", one["id"]).stdout
    assert "2 of 2 runs worked: a success rate of at least 0.67; last at " in shown
    assert "context: rows" in shown
    assert shown.endswith("\nreturn context.rows.slice(1, 30)\n")
    removed = loci(tmp_path, "tools", "capabilities", "remove", one["id"])
    assert removed.stdout == f"Removed {one['id']}: leave out the first row\n"
    gone = loci(tmp_path, "tools", "capabilities", "show", one["id"])
    assert (gone.returncode, f"There is no capability '{one['id']}'" in gone.stderr) == (1, True)


def test_skills_are_written_as_folders_and_no_file_of_others_is_overwritten(tmp_path: Path) -> None:
    for _ in range(2):
        assert loci(tmp_path, "call", "pml_execute_code", RUN).returncode == 0
    folder = tmp_path / "skills"

    def export() -> dict[str, list[str]]:
        ended = loci(tmp_path, "skills", "export", str(folder), "--json")
        assert ended.returncode == 0, ended.stderr
        return json.loads(ended.stdout)

    written = {Path(one).parent.name: Path(one) for one in export()["written"]}
    [learned] = written.keys() - {"loci-documents", "loci-files", "loci-procedures"}
    assert learned.startswith("leave-out-the-first-row-")
    for name, file in written.items():
        assert file == folder / name / "SKILL.md"
        _, front, body = file.read_text("utf-8").split("---\n", 2)
        fields = yaml.safe_load(front)
        assert (fields["name"], {*fields}) == (name, {"name", "description", "metadata"})
        assert ("2 of 2 runs" in body) == (name == learned)
    assert loci(tmp_path, "call", "pml_execute_code", RUN).returncode == 0
    assert export()["written"] == [str(written[learned])]
    assert "3 of 3 runs" in written[learned].read_text("utf-8")
    edited = written["loci-files"]
    edited.write_text(edited.read_text("utf-8") + "\nMine.\n", "utf-8")
    written[learned].unlink()
    refused = loci(tmp_path, "skills", "export", str(folder))
    assert (refused.returncode, f"Loci did not write {edited}, or somebody edited it" in refused.stderr) == (1, True)
    assert (edited.read_text("utf-8").endswith("Mine.\n"), written[learned].exists()) == (True, False)
