"""How hostile TypeScript takes what V8's heap does not count, and how it goes on after its answer."""

from tests.attack.sandbox.deno.attacks import Attack, imports

NO_MEMORY = ("SANDBOX_MEMORY", "CODE_ERROR")
PRINT = "const print = (text: string) => Deno.stdout.writeSync(new TextEncoder().encode(text));"
FOR_EVER = "for (let i = 0;; i++)"

METERS = [
    Attack(
        "array buffers that are touched and dropped",
        "for (let i = 0; i < 30; i++) { let b: unknown = new Uint8Array(5e7).fill(1); b = null } return 1",
        ("value", "SANDBOX_TIMEOUT", *NO_MEMORY),
    ),
    Attack(
        "array buffers that are handed on",
        "const a = []; for (;;) { const b = new ArrayBuffer(1 << 24); new Uint8Array(b).fill(1);"
        "a.push(structuredClone(b, {transfer: [b]})) }",
        NO_MEMORY,
    ),
    Attack(
        "an array buffer that grows",
        "const b = new ArrayBuffer(1, {maxByteLength: 4e9}); b.resize(3e9); new Uint8Array(b).fill(1)",
        NO_MEMORY,
    ),
    Attack(
        "shared array buffers",
        "const a = []; for (;;) { const b = new SharedArrayBuffer(1 << 24); new Uint8Array(b).fill(1); a.push(b) }",
        NO_MEMORY,
    ),
    Attack(
        "a shared array buffer that grows",
        "const b = new SharedArrayBuffer(1, {maxByteLength: 4e9}); b.grow(3e9); new Uint8Array(b).fill(1)",
        NO_MEMORY,
    ),
    Attack(
        "WebAssembly's memory that grows",
        "const m = new WebAssembly.Memory({initial: 1, maximum: 65536});"
        "for (;;) { m.grow(256); new Uint8Array(m.buffer).fill(1) }",
        NO_MEMORY,
    ),
    Attack(
        "WebAssembly's memory that threads share",
        "const m = new WebAssembly.Memory({initial: 1, maximum: 65536, shared: true});"
        "for (;;) { m.grow(256); new Uint8Array(m.buffer).fill(1) }",
        NO_MEMORY,
    ),
    Attack(
        "page tables of WebAssembly's memory that is only read",
        "const a = []; for (let i = 0; i < 8; i++) { const m = new WebAssembly.Memory({initial: 65536});"
        "const u = new Uint8Array(m.buffer); for (let p = 0; p < u.length; p += 4096) u[p]; a.push(m) }",
        NO_MEMORY,
    ),
    Attack(
        "tables of WebAssembly",
        'const a = []; for (;;) a.push(new WebAssembly.Table({initial: 9e6, element: "anyfunc"}))',
        NO_MEMORY,
    ),
    Attack("blobs", "const a = []; for (;;) a.push(new Blob([new Uint8Array(1 << 24).fill(1)]))", NO_MEMORY),
    Attack(
        "blobs with addresses",
        f"{FOR_EVER} URL.createObjectURL(new Blob([new Uint8Array(1 << 24).fill(1)]))",
        NO_MEMORY,
    ),
    Attack(
        "messages that nobody takes",
        f"const a = []; {FOR_EVER} {{ const c = new MessageChannel(); a.push(c);"
        "c.port1.postMessage(new Uint8Array(1 << 24).fill(1)) }",
        NO_MEMORY,
    ),
    Attack(
        "streams that nobody reads",
        f"const a = []; {FOR_EVER} {{ const w = new TransformStream().writable.getWriter(); a.push(w);"
        "w.write(new Uint8Array(1 << 24).fill(1)) }",
        NO_MEMORY,
    ),
    Attack(
        "what a library of the system takes",
        f"const a = []; {FOR_EVER} a.push(new Intl.DateTimeFormat('en', {{timeZone: 'UTC'}}))",
        ("SANDBOX_MEMORY", "SANDBOX_TIMEOUT"),
    ),
    Attack(
        "a database in memory",
        imports(
            "node:sqlite",
            "const d = new m.DatabaseSync(':memory:'); d.exec('create table t(x)');"
            "const s = d.prepare('insert into t values (zeroblob(1e7))'); for (;;) s.run()",
        ),
        NO_MEMORY,
    ),
    Attack(
        "a key that takes memory to make",
        imports("node:crypto", "return m.scryptSync('a', 'b', 64, {N: 1 << 21, r: 8, p: 1, maxmem: 4e9}).length"),
        NO_MEMORY,
    ),
    Attack(
        "files in every folder",
        imports(
            "node:fs",
            "const done = []; for (const d of ['/tmp', '/dev/shm', '/var/tmp', '/run', '/dev', '.', '/proc/self'])"
            "{ try { m.writeFileSync(d + '/x', 'y'); done.push('CANARY' + d) } catch {} }"
            "for (const make of [m.mkdtempSync, m.mkdirSync, m.truncateSync])"
            "{ try { make('/tmp/made'); done.push('CANARY') } catch {} } return done",
        ),
        ("value",),
    ),
    Attack(
        "temporary files",
        "const done = []; for (const make of [Deno.makeTempFile, Deno.makeTempDir])"
        "{ try { await make(); done.push('CANARY') } catch {} } return done",
        ("value",),
    ),
    Attack(
        "sockets",
        "const done = []; for (const open of [() => Deno.listen({port: 0}), () => Deno.connect({port: 80}),"
        "() => Deno.listen({transport: 'unix', path: '/tmp/x'} as any), () => Deno.resolveDns('a.example', 'A'),"
        "() => (Deno as any).listenDatagram({port: 0, transport: 'udp'})])"
        "{ try { await open(); done.push('CANARY') } catch {} } return done",
        ("value",),
    ),
    Attack(
        "text without a line's end", f"{PRINT} const s = 'x'.repeat(1 << 20); for (;;) print(s)", ("SANDBOX_OUTPUT",)
    ),
    Attack("a text of 8 MB without a line's end", f"{PRINT} print('x'.repeat(8 << 20)); return 1", ("SANDBOX_OUTPUT",)),
    Attack(
        "empty lines without end",
        f"{PRINT} for (;;) print('\\n'.repeat(1 << 16))",
        ("SANDBOX_OUTPUT", "SANDBOX_TIMEOUT"),
    ),
    Attack(
        "errors of the standard error without end",
        "const b = new Uint8Array(1 << 20).fill(65); for (let i = 0; i < 300; i++) Deno.stderr.writeSync(b); return 1",
        ("value", "SANDBOX_TIMEOUT"),
    ),
    Attack("an error with a huge message", "throw new Error('x'.repeat(2e8))", NO_MEMORY),
    Attack("an error with a huge name", "const e = new Error('x'); e.name = 'y'.repeat(2e8); throw e", NO_MEMORY),
    Attack("an error with a huge stack", "const e = new Error('x'); e.stack = 'y'.repeat(2e8); throw e", NO_MEMORY),
    Attack("a huge text that is thrown in an object", "throw {a: 'x'.repeat(2e8)}", NO_MEMORY),
    Attack("a huge text that is printed", "console.log('x'.repeat(2e8)); return 1", ("value", "SANDBOX_MEMORY")),
    Attack(
        "an error of many errors",
        "throw new AggregateError(Array.from({length: 2e5}, (_, i) => new Error('e' + i)))",
        ("CODE_ERROR", "SANDBOX_TIMEOUT"),
    ),
    Attack(
        "an error with a long line of causes",
        "let e = new Error('x'); for (let i = 0; i < 5e4; i++) e = new Error('y'.repeat(100), {cause: e}); throw e",
        ("CODE_ERROR",),
    ),
    Attack(
        "a clean-up that never ends",
        "const r = new FinalizationRegistry(() => { for (;;); }); for (let i = 0; i < 1e5; i++) r.register({}, 1);"
        "await new Promise(done => setTimeout(done, 200)); return 1",
        ("value", "SANDBOX_TIMEOUT"),
        timeout_ms=1000,
    ),
    Attack(
        "wait for nobody",
        "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
        ("SANDBOX_TIMEOUT", "CODE_ERROR"),
        timeout_ms=300,
    ),
]

GOES_ON = {
    "a timer": "setInterval(() => { for (let i = 0; i < 1e9; i++); }, 1); return 1",
    "a promise": "const f = () => Promise.resolve().then(f); queueMicrotask(f); return 1",
    "a thread": imports("node:worker_threads", "new m.Worker('for (;;);', {eval: true}); return 1"),
    "a getter of what was returned": "setTimeout(() => { for (;;); }, 0); return {get a() { return 1 }}",
    "a loop behind the result": f'{PRINT} print(\'{{"t":"result","value":1,"seen":[]}}\\n\'); for (;;);',
    "a loop at the end": "globalThis.addEventListener('unload', () => { for (;;); }); return 1",
}
"""Code that goes on computing after its answer."""
