"""What makes a result another one next time is noticed while the code runs."""

from loci.adapters.local.deno_sandbox import DenoSandbox
from tests.support.deno import needs_deno, steady
from tests.support.each import each

pytestmark = needs_deno


@each(
    "code",
    [
        "2 + 2",
        "new Date(0).getFullYear()",
        "Math.max(1, 2)",
        "'Math.random() and Date.now() in a text'",
        "// Date.now()\n1",
        "[3, 1].sort().map(x => `${x}`).join()",
        "new Map([[1, 2]]).size; structuredClone({a: 1})",
        "console.log('a'); 1",
        "await Promise.all([1, 2])",
        "class A extends Array {}; new A(3).length",
        "context.x = 1; JSON.stringify(context)",
        "const f = (n: number): number => n < 2 ? n : f(n - 1) + f(n - 2); f(10)",
    ],
)
def test_steady_code_is_known_as_such(deno: DenoSandbox, code: str) -> None:
    assert steady(deno, code)


@each(
    "code",
    [
        "Date.now()",
        "new Date()",
        "Date()",
        "const D = Date; new D()",
        "new (new Date(0).constructor)()",
        "Reflect.construct(Date, [])",
        "new (class extends Date {})()",
        "Math.random()",
        "const { random } = Math; random()",
        "globalThis['Ma' + 'th']['ran' + 'dom']()",
        "performance.now()",
        "crypto.randomUUID()",
        "Intl.DateTimeFormat().format()",
        "Temporal.Now.instant().toString()",
        "await new Promise(done => setTimeout(done, 1))",
        "Deno.pid",
        "process.hrtime()",
        "(await import('node:os')).EOL",
        "eval('Date.now()')",
        "(0, eval)('import(\"node:os\")').then(m => m.EOL)",
        "new Function('return 1')()",
        "(() => {}).constructor('return 1')()",
        "(async () => {}).constructor('return 1')()",
        "console.time('a'); console.timeEnd('a')",
        "new WeakRef({}).deref()",
        "new Event('a').timeStamp",
        "new File([], 'a').lastModified",
        "self['perf' + 'ormance'].timeOrigin",
        "Object.getOwnPropertyDescriptor(globalThis, 'crypto')!.get!.call(globalThis).randomUUID()",
    ],
)
def test_clock_randomness_files_and_modules_are_noticed(deno: DenoSandbox, code: str) -> None:
    assert not steady(deno, code)
