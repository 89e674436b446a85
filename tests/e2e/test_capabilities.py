"""`loci tools capabilities`, on code that `loci call` ran."""

import json
from pathlib import Path

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
