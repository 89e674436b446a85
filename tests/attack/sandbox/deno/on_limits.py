"""How hostile TypeScript tries to take more than its share, to fool the host, and to leave something behind."""

from tests.attack.sandbox.deno.attacks import Attack, imports


def _write(line: str) -> str:
    return f"Deno.stdout.writeSync(new TextEncoder().encode({line} + '\\n'));"


WAIT = "await new Promise(done => setTimeout(done, 200));"

MEMORY = [
    Attack("fill the heap", "const a = []; for (;;) a.push(new Array(1e5).fill(1.5))", ("SANDBOX_MEMORY",)),
    Attack(
        "fill array buffers, outside the heap",
        "const a = []; for (;;) a.push(new Uint8Array(5e7).fill(1))",
        ("SANDBOX_MEMORY",),
    ),
    Attack(
        "fill WebAssembly's memory",
        "const a = []; for (;;) { const m = new WebAssembly.Memory({initial: 1600});"
        "new Uint8Array(m.buffer).fill(1); a.push(m) }",
        ("SANDBOX_MEMORY",),
    ),
    Attack("grow a text", 'let s = "x"; for (;;) s += s + Math.random()', ("SANDBOX_MEMORY", "CODE_ERROR")),
    Attack(
        "fill the heaps of many workers",
        imports(
            "node:worker_threads",
            "for (let i = 0; i < 40; i++) new m.Worker("
            '"const a = []; for (;;) a.push(new Array(1e5).fill(1.5))", {eval: true}); await new Promise(() => {})',
        ),
        ("SANDBOX_MEMORY", "SANDBOX_TIMEOUT", "SANDBOX_EXITED", "CODE_ERROR"),
    ),
]

TIME = [
    Attack("loop", "for (;;) {}", ("SANDBOX_TIMEOUT",), timeout_ms=300),
    Attack(
        "loop in microtasks",
        "const f = () => Promise.resolve().then(f); await f()",
        ("SANDBOX_TIMEOUT", "SANDBOX_MEMORY"),
        timeout_ms=300,
    ),
    Attack("match without end", '/^(a+)+$/.test("a".repeat(60) + "!")', ("SANDBOX_TIMEOUT",), timeout_ms=300),
    Attack(
        "take no signal",
        'Deno.addSignalListener("SIGTERM", () => {}); Deno.addSignalListener("SIGINT", () => {}); for (;;) {}',
        ("SANDBOX_TIMEOUT",),
        timeout_ms=300,
    ),
    Attack(
        "wait without end",
        "await new Promise(() => { setInterval(() => {}, 10) })",
        ("SANDBOX_TIMEOUT",),
        timeout_ms=300,
    ),
    Attack("overflow the stack", "const f = () => f(); f()", ("CODE_ERROR",)),
    Attack("loop while the result is encoded", "({toJSON() { for (;;); }})", ("SANDBOX_TIMEOUT",), timeout_ms=300),
]

ENDS = [
    Attack("end without a result", "Deno.exit(0)", ("SANDBOX_EXITED",)),
    Attack("abort", "(await import('node:process')).default.abort()", ("SANDBOX_EXITED", "SANDBOX_MEMORY")),
    Attack(
        "close its streams",
        "Deno.stdout.close(); Deno.stdin.close(); return 1",
        ("SANDBOX_EXITED", "CODE_ERROR"),
    ),
    Attack("escape the function around it", '}); globalThis.made = "CANARY"; (async () => { return "CANARY"'),
]

OUTPUT = [
    Attack("a result that is all escapes", 'return "\\n,".repeat(1_500_000)', ("value",)),
    Attack(
        "long lines of escapes that are no result",
        """const line = '{"t":"none","value":"' + "\\\\n,".repeat(1_000_000) + '"}'; for (;;) {"""
        + _write("line")
        + "}",
        ("SANDBOX_OUTPUT",),
    ),
    Attack("give a huge result", 'return "x".repeat(5e7)', ("SANDBOX_OUTPUT", "SANDBOX_MEMORY")),
    Attack("log without end", 'for (let i = 0; i < 1e5; i++) console.log("y".repeat(1000)); return 1', ("value",)),
    Attack(
        "flood standard output",
        "const b = new Uint8Array(1e6).fill(65); for (;;) Deno.stdout.writeSync(b)",
        ("SANDBOX_OUTPUT",),
    ),
    Attack(
        "call a tool that it was not given",
        _write('JSON.stringify({t: "call", n: 999, tool: "admin:delete_all", args: {}})') + WAIT + "return 1",
        ("value",),
        tools=True,
    ),
    Attack(
        "call a tool ten thousand times",
        "await Promise.allSettled(Array.from({length: 10000}, () => github.listCommits({}))); return 1",
        ("value",),
        tools=True,
    ),
    Attack(
        "forge the result and its figures",
        _write('JSON.stringify({t: "result", value: 1, seen: [], ms: -5, heap: "NaN"})') + "return 2",
        ("value",),
    ),
    Attack(
        "write senseless lines",
        "for (const l of ['[]', 'null', '{\"t\":5}', '{\"t\":\"call\",\"n\":{},\"tool\":[]}', '\\u0000\\u0001']) {"
        + _write("l")
        + "} return 3",
        ("value",),
    ),
    Attack(
        "break what the runner uses",
        'JSON.stringify = () => "{}"; Promise.prototype.then = null; Array.prototype.push = () => { throw 1 };'
        "Object.prototype.ok = true; return 4",
        timeout_ms=3000,
    ),
    Attack(
        "give a result without end of depth",
        "const s = '['.repeat(200000) + ']'.repeat(200000);"
        + _write('\'{"t":"result","value":\' + s + \'}\'')
        + WAIT
        + "return 1",
        ("SANDBOX_PROTOCOL", "value"),
    ),
]

TRACES = [
    Attack(
        "leave something in storage",
        'try { localStorage.setItem("k", "CANARY") } catch {}'
        'try { const c = await caches.open("x"); await c.put("http://a/", new Response("CANARY")) } catch {} return 1',
    ),
    Attack(
        "find what was left",
        'const r = []; try { r.push(localStorage.getItem("k")) } catch {}'
        'try { r.push(await (await (await caches.open("x")).match("http://a/")).text()) } catch {} return r',
    ),
    Attack(
        "get the storage from a worker",
        imports(
            "node:worker_threads",
            "const w = new m.Worker(\"const {parentPort: p} = require('worker_threads');"
            "caches.open('x').then(c => c.put('http://a/', new Response('CANARY')))"
            ".then(() => p.postMessage('CANARY'), e => p.postMessage(String(e)))\", {eval: true});"
            'return await new Promise(r => w.on("message", r))',
        ),
    ),
]
