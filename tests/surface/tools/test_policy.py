"""What the operator's policy means for calls from code, and where its refusals can be looked up."""

from pathlib import Path

import pytest

from loci.core.errors import LociError, Refused
from loci.core.identity import LOCAL, LOCAL_CALLER
from tests.surface.tools.conftest import shop_app


def test_read_only_holds_for_own_tools_that_code_calls(tmp_path: Path) -> None:
    with shop_app(tmp_path, tools_read_only=True) as app:
        assert app.tools.value(LOCAL_CALLER, "code", "scratchpad_list", {})
        with pytest.raises(Refused, match="tools_read_only"):
            app.tools.value(LOCAL_CALLER, "code", "loci:add_memory", {})


def test_a_call_from_code_that_needs_approval_is_refused(tmp_path: Path) -> None:
    with shop_app(tmp_path, {"approve": ["break_plate"]}) as app, pytest.raises(Refused) as caught:
        app.tools.value(LOCAL_CALLER, "code", "shop:break_plate", {"plate": "china"})
    assert caught.value.code == "APPROVAL_PENDING"


def test_what_the_policy_refuses_can_be_looked_up(tmp_path: Path) -> None:
    with shop_app(tmp_path, {"deny": ["break_*"], "approve": ["draw_*"]}) as app:
        for tool, arguments in (("shop:break_plate", {"plate": "china"}), ("shop:draw_cat", {})):
            with pytest.raises(LociError):
                app.tools.value(LOCAL_CALLER, "code", tool, {**arguments})
        app.tools.parts.later.finish()
        assert [one.outcome for one in app.tools.last_calls(LOCAL)] == ["APPROVAL_PENDING", "TOOL_DENIED"]
        days = app.tools.call_history(LOCAL)[1].values()
        assert [sum(some) for some in zip(*days, strict=True)] == [0, 1]  # the one that waits has not failed


def test_a_hundred_calls_are_kept(tmp_path: Path) -> None:
    with shop_app(tmp_path, {"deny": ["*"]}) as app:
        for _ in range(120):
            with pytest.raises(LociError):
                app.tools.value(LOCAL_CALLER, "code", "shop:draw_cat", {})
        app.tools.parts.later.finish()
        assert len(app.tools.last_calls(LOCAL)) == 100
