"""The files that code may read: those that the operator allows and the caller asked for."""

import pytest

from tests.support.deno import needs_deno
from tests.support.each import each
from tests.surface.typescript.conftest import Desk

pytestmark = [pytest.mark.anyio, needs_deno]


def _reads(path: object) -> str:
    return f"Deno.readTextFileSync({str(path)!r})"


async def test_what_both_allow_can_be_read(desk: Desk) -> None:
    limits = {"allowedReadPaths": [str(desk.readable / "below")]}
    assert await desk.value(_reads(desk.readable / "below" / "a.txt"), sandbox_config=limits) == "fine"


async def test_nothing_is_readable_that_was_not_asked_for(desk: Desk) -> None:
    told = await desk.failure(_reads(desk.readable / "below" / "a.txt"))
    assert "allowedReadPaths" in told["resolution"]


async def test_of_a_larger_folder_the_allowed_part_can_be_read(desk: Desk) -> None:
    limits = {"allowedReadPaths": [str(desk.readable.parent)]}
    file = desk.readable / "below" / "a.txt"
    secret = desk.readable.parent / "secret.txt"
    code = f"let s = 'no'; try {{ s = {_reads(secret)} }} catch {{}}; return [{_reads(file)}, s]"
    assert await desk.value(code, sandbox_config=limits) == ["fine", "no"]


@each("path", ["/etc", "/proc", "/", "relative", "/not/there", "", "/etc\x00/x", "/etc,/usr"])
async def test_what_the_operator_does_not_allow_is_refused_alike(desk: Desk, path: str) -> None:
    told = await desk.told("1", sandbox_config={"allowedReadPaths": [path]})
    if path == "/":  # of everything, what is allowed
        assert "refused_read_paths" not in told
    else:
        assert told["refused_read_paths"] == [path]


async def test_links_lead_nowhere(desk: Desk) -> None:
    limits = {"allowedReadPaths": [str(desk.readable)]}
    for code in (_reads(desk.readable / "link"), _reads(desk.readable / "below" / ".." / ".." / "secret.txt")):
        told = await desk.failure(code, sandbox_config=limits)
        assert "CANARY" not in str(told)


async def test_a_link_that_is_asked_for_is_what_it_leads_to(desk: Desk) -> None:
    told = await desk.told("1", sandbox_config={"allowedReadPaths": [str(desk.readable / "link")]})
    assert told["refused_read_paths"] == [str(desk.readable / "link")]
