"""Attacks on the supervisor: what it reads, what it keeps, and what it hands on. Each prints ESCAPE if it works."""

FRAMES = """
def frame(kind, payload, length=None):
    b = kind + struct.pack(">I", len(payload) if length is None else length) + payload
    while b: b = b[os.write(11, b):]
def again(payload):
    while True: frame(b"J", payload)
def say(**what): frame(b"J", json.dumps(what).encode())
"""

PROTOCOL = {
    "close every file": "os.closerange(0, 256)",
    "close what the supervisor writes to": "os.close(10)",
    "close what it prints to": "os.close(1); os.close(2); time.sleep(0.2)",
    "forge the end of the run": "say(t='done', id='guess', ok=True, value={'type': 'str', 'text': 'ESCAPE'})",
    "an unknown kind of frame": "frame(b'Z', b'')",
    "a frame of 4 GB": "frame(b'J', b'', 0xFFFFFFFF)",
    "a frame of deep JSON": "frame(b'J', b'[' * 300_000)",
    "a frame that is no JSON": "frame(b'J', b'\\xff\\xfe')",
    "a frame that is no object": "frame(b'J', b'5')",
    "a number of a million digits": "frame(b'J', b'{\"t\": ' + b'9' * 1_000_000 + b'}')",
    "a frame of empty lists": "frame(b'J', b'{\"a\":[' + b'[],' * 5_000_000 + b'[]]}')",
    "a small frame of many lists": "frame(b'J', b'{\"a\":[' + b'[],' * 300_000 + b'[]]}')",
    "a frame of too many names": "frame(b'J', b'{' + b','.join(b'\"%d\":0' % n for n in range(60_000)) + b'}')",
    "frames of many names": "again(b'{' + b','.join(b'\"%d\":0' % n for n in range(9_000)) + b'}')",
    "small frames without end": "again(b'{}')",
    "small frames of many values": "again(b'{\"a\":[' + b'1.5,' * 2_000 + b'0]}')",
    "frames of one text that is all escapes": "again(b'{\"a\":\"' + b'\\\\n,' * 349_000 + b'\"}')",
    "frames of long numbers": "again(b'{\"a\":[' + (b'9' * 4200 + b',') * 240 + b'0]}')",
    "lists that are hidden in another encoding": """
frame(b'J', ('{"a":["\\\\"",' + '[],' * 160_000 + '[]]}').encode("utf-16-le"))
""",
    "empty bytes without end": "\nwhile True: frame(b'B', b'')",
    "bytes in one frame of 30 MB": "frame(b'B', bytes(30 << 20))",
    "names in quotation marks without end": "frame(b'J', b'{\"a\":[' + b'\"\",' * 300_000 + b'0]}')",
    "half a frame": "os.write(11, b'J'); time.sleep(60)",
    "more bytes than were asked for": "for i in range(40): frame(b'B', b'x' * (1 << 20))",
    "say that it is another process": "say(t='spawned', pid=VPID); say(t='ready', pid=VPID); time.sleep(60)",
    "ask for files without end": "\nwhile True: say(t='memory', memory_id='m1', memory_name='')",
    "ask for files of strange names": """
for one in (1, None, [], {}, "x" * 1_000_000, "\\ud800", "../..", "\\0"):
    say(t='memory', memory_id=one, memory_name=one)
""",
    "change what it speaks with": """
import builtins, gc
json.dumps = lambda *a, **k: '{"t": "done", "id": "x", "ok": true}'
builtins.print = lambda *a, **k: None; os.read = None; os.write = None
for o in gc.get_objects():
    if type(o).__name__ == "Executor": o._say = None; o._run = None
""",
    "end with a crash": "ctypes.string_at(0)",
    "put things into its names": "globals()[1] = 2; globals()['x' * 100_000] = 3; globals()['\\ud800'] = 4",
    "a value of another type than it says": """
class Text(str):
    def __len__(self): return 0
class Odd:
    def __repr__(self): return Text("y" * 1_000_000)
Odd()
""",
    "an error without a text": """
class Odd(Exception):
    def __str__(self): raise SystemExit
raise Odd
""",
}

LEFT_BEHIND = {
    "a pickle that runs a program": """
class Evil:
    def __reduce__(self): return (os.system, (f"touch {W}/pwned.txt",))
x = Evil()
""",
    "a pickle that runs code": """
class Evil:
    def __reduce__(self): return (eval, (f"__import__('pathlib').Path('{W}/pwned.txt').write_text('x')",))
x = Evil()
""",
    "a pickle that ends whoever reads it": """
class Evil:
    def __reduce__(self): return (os._exit, (0,))
x = Evil()
""",
    "a pickle that never ends": """
class Evil:
    def __reduce__(self): return (eval, ("[0 for _ in iter(int, 1)]",))
x = Evil()
""",
    "a pickle that takes all memory": """
class Evil:
    def __reduce__(self): return (eval, ("b'x' * (1 << 40)",))
x = Evil()
""",
    "saving that prints without end": """
class Evil:
    def __reduce__(self):
        for i in range(100): os.write(1, b"y" * (1 << 20))
        return (int, ())
x = Evil()
""",
}

FIGURES = {
    "an image that is none": "frame(b'B', b'<svg onload=alert(1)>')",
    "a hundred images": "for i in range(100): frame(b'B', b'\\x89PNG\\r\\n\\x1a\\n' + bytes(1000))",
    "images of 20 MB": "for i in range(5): frame(b'B', b'\\x89PNG\\r\\n\\x1a\\n' + bytes(4 << 20))",
}
