"""What every `Sandbox` does."""

import random
from collections.abc import Iterator

import pytest

from loci.code.ports import Completed, Failed, Sandbox
from loci.core.errors import Refused, Unavailable
from loci.core.identity import LOCAL
from loci.core.json import Json, JsonObject
from loci.sandbox.supervisor.deno_messages import RunLimits, ToolClient, TypeScriptJob
from tests.contract.sandboxes import ADAPTERS
from tests.support.deno import needs_deno, no_tool

pytestmark = needs_deno
LIMITS = RunLimits(20_000)
SHOP = ToolClient(("shop",), (("shop:price", ("price",)), ("shop:buy", ("buy",))))


@pytest.fixture(scope="module", params=ADAPTERS)
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    with ADAPTERS[request.param]() as made:
        yield made


def price(tool: str, arguments: JsonObject) -> Json:
    if tool == "shop:buy":
        raise Refused("The shop is closed", "Come back tomorrow", code="CLOSED")
    return {"tool": tool, **arguments}


def failed(sandbox: Sandbox, code: str, limits: RunLimits = LIMITS) -> Failed:
    ended = sandbox.run(LOCAL, TypeScriptJob(code, limits=limits), no_tool)
    assert isinstance(ended, Failed), ended
    return ended


def completed(sandbox: Sandbox, job: TypeScriptJob) -> Completed:
    ended = sandbox.run(LOCAL, job, price)
    assert isinstance(ended, Completed), ended
    return ended


def test_code_gives_a_value_and_what_it_wrote(sandbox: Sandbox) -> None:
    code = "console.warn('so far', n);\nconst doubled: number = context.n * 2;\ndoubled"
    ended = completed(sandbox, TypeScriptJob(code, {"n": 21}, LIMITS))
    assert ended.value == 42
    assert [(line.level, line.text) for line in ended.measured.logs] == [("warn", "so far 21")]


def test_a_value_that_is_not_json_says_what_it_was(sandbox: Sandbox) -> None:
    ended = completed(sandbox, TypeScriptJob("new Map([['a', 1n]])", limits=LIMITS))
    assert ended.kind == "Map"


def test_whether_it_is_the_same_next_time_is_told(sandbox: Sandbox) -> None:
    assert completed(sandbox, TypeScriptJob("2 + 2", limits=LIMITS)).steady
    assert not completed(sandbox, TypeScriptJob("Math.random()", limits=LIMITS)).steady


def test_code_calls_the_tools_that_it_was_given(sandbox: Sandbox) -> None:
    code = "await Promise.all([1, 2, 3].map((item) => shop.price({ item })))"
    ended = completed(sandbox, TypeScriptJob(code, limits=LIMITS, clients=(SHOP,)))
    assert ended.value == [{"tool": "shop:price", "item": item} for item in (1, 2, 3)]
    assert ended.measured.calls == 3
    assert not ended.steady


def test_a_large_letter_comes_whole_both_ways(sandbox: Sandbox) -> None:
    # Of random characters, so that it takes several parts.
    code = """
    let text = "";
    while (text.length < 700_000) text += Math.random().toString(36).slice(2);
    const back = await shop.price({ text });
    return back.text === text;
    """
    assert completed(sandbox, TypeScriptJob(code, limits=LIMITS, clients=(SHOP,))).value is True


def test_a_context_of_four_megabytes_comes_whole(sandbox: Sandbox) -> None:
    # As JSON without other letters than those of ASCII, it has twice as many bytes as Lambda takes.
    text = "".join(map(chr, random.Random(1).choices(range(0x4E00, 0x9FA5), k=1_400_000)))
    code = "let sum = 0; for (const one of context.text) sum += one.codePointAt(0); [context.text.length, sum]"
    ended = completed(sandbox, TypeScriptJob(code, {"text": text}, LIMITS))
    assert ended.value == [len(text), sum(map(ord, text))]


def test_a_context_of_forty_megabytes_comes_whole_or_is_refused_with_a_way(sandbox: Sandbox) -> None:
    job = TypeScriptJob("context.text.length", {"text": "x" * 40_000_000}, LIMITS)
    try:
        told = completed(sandbox, job).value
    except Unavailable as refused:
        told = refused.resolution
    assert told == 40_000_000 or "add_memory" in str(told)


def test_a_tools_failure_is_the_codes_to_catch(sandbox: Sandbox) -> None:
    code = "try { await shop.buy({}) } catch (error) { return [error.code, error.message] }"
    value = completed(sandbox, TypeScriptJob(code, limits=LIMITS, clients=(SHOP,))).value
    assert isinstance(value, list)
    assert "The shop is closed" in str(value)


def test_what_code_throws_is_told_with_its_place(sandbox: Sandbox) -> None:
    ended = failed(sandbox, "const a = 1;\nnull.x")
    assert ended.code == "CODE_ERROR"
    assert "line 2" in ended.message
    assert ended.stack


def test_a_syntax_error_names_its_place(sandbox: Sandbox) -> None:
    assert "line 1" in failed(sandbox, "const = 1").message


def test_code_without_end_is_stopped(sandbox: Sandbox) -> None:
    assert failed(sandbox, "for (;;);", RunLimits(300)).code == "SANDBOX_TIMEOUT"


def test_code_that_wants_too_much_memory_is_stopped(sandbox: Sandbox) -> None:
    code = "const all = []; for (;;) all.push(new Array(1_000_000).fill(Math.random()))"
    assert failed(sandbox, code, RunLimits(20_000, 64)).code == "SANDBOX_MEMORY"


def test_it_goes_on_after_code_that_ended_its_process(sandbox: Sandbox) -> None:
    assert failed(sandbox, "Deno.exit(3)").code == "SANDBOX_EXITED"
    assert completed(sandbox, TypeScriptJob("1 + 1", limits=LIMITS)).value == 2


def test_code_reaches_no_network(sandbox: Sandbox) -> None:
    assert "NotCapable" in failed(sandbox, "await fetch('http://127.0.0.1:4242/')").message
