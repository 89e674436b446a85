"""What code writes with console is captured, with levels and a cap."""

from loci.adapters.local.deno_sandbox import DenoSandbox
from loci.code.ports import LogLine
from tests.support.deno import needs_deno, run

pytestmark = needs_deno


def test_each_level_is_told(deno: DenoSandbox) -> None:
    code = "".join(f"console.{level}('{level}');" for level in ("debug", "log", "info", "warn", "error"))
    levels = ("debug", "log", "info", "warn", "error")
    assert run(deno, code).measured.logs == tuple(LogLine(level, level) for level in levels)


def test_lines_read_as_on_a_console(deno: DenoSandbox) -> None:
    code = "console.log('%s is %d', 'a', 5, {b: [1n, new Map([[1, 2]])]}); console.group('g'); console.log('in\\nside')"
    texts = [line.text for line in run(deno, code).measured.logs]
    assert texts == ["a is 5 { b: [ 1n, Map(1) { 1 => 2 } ] }", "g", "  in\n  side"]


def test_what_is_printed_past_the_console_is_a_line_too(deno: DenoSandbox) -> None:
    code = "Deno.stdout.writeSync(new TextEncoder().encode('plain\\n')); 1"
    assert run(deno, code).measured.logs == (LogLine("log", "plain"),)


def test_lines_beyond_the_cap_are_counted(deno: DenoSandbox) -> None:
    measured = run(deno, "for (let i = 0; i < 1500; i++) console.log(i); 1").measured
    assert (len(measured.logs), measured.logs_dropped) == (1000, 500)


def test_lines_beyond_the_cap_are_counted_if_the_result_is_too_much(deno: DenoSandbox) -> None:
    code = "for (let i = 0; i < 1500; i++) console.log(i); Array.from({length: 300_000}, (_, i) => i)"
    measured = run(deno, code).measured
    assert (len(measured.logs), measured.logs_dropped) == (1000, 500)


def test_a_long_line_is_cut_at_the_cap(deno: DenoSandbox) -> None:
    measured = run(deno, "console.log('x'.repeat(1e6)); console.log('y'); 1").measured
    assert sum(len(line.text) for line in measured.logs) <= 256 * 1024 + 1
    assert measured.logs_dropped == 1


def test_lines_before_a_failure_are_kept(deno: DenoSandbox) -> None:
    assert run(deno, "console.warn('soon'); throw new Error('now')").measured.logs == (LogLine("warn", "soon"),)
