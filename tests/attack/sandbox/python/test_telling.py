"""Whatever code does to Python, its run is answered, its executor goes on, and its variables stay."""

import json
import os
import signal
from collections.abc import Generator
from dataclasses import replace

import pytest

from loci.adapters.run_results import limit_values, python_result
from loci.code.ports import ExecutorCondition
from loci.sandbox.supervisor.executor_process import ExecutorEnded, ExecutorProcess, ExecutorReply
from tests.attack.sandbox.conftest import Tried
from tests.attack.sandbox.python.test_meters import WALLS
from tests.support.each import each
from tests.support.executors import PATIENT, ExecutorFactory, executor_factory, no_files, printed, walls
from tests.support.executors import tried as outcome
from tests.support.polling import until

BOUNDS = replace(PATIENT, seconds=30.0)
HARMLESS = {
    "a long chain of causes": """
e = None
for i in range(2000):
    try: raise ValueError(i) from e
    except ValueError as caught: e = caught
raise e
""",
    "a long chain of contexts": """
def f(n):
    try: raise ValueError(n)
    except ValueError as e: last[0].__context__ = e; last[0] = e
top = ValueError('top'); last = [top]
for i in range(2000): f(i)
raise top
""",
    "a group in a group in a group": """
g = ValueError(1)
for i in range(3000): g = ExceptionGroup('g', [g])
raise g
""",
    "an error that caused itself": "e = ValueError(); e.__cause__ = e; e.__context__ = e; raise e",
    "a class without a name": """
class M(type):
    __name__ = property(lambda self: 1 / 0)
    __module__ = property(lambda self: 1 / 0)
class A(metaclass=M): pass
A()
""",
    "an error whose class has no name": """
class M(type):
    __name__ = property(lambda self: 1 / 0)
class E(Exception, metaclass=M): pass
raise E('own')
""",
    "a text of another kind": """
class T(str):
    def __len__(self): return 0
    def __getitem__(self, at): raise SystemExit
class A:
    def __repr__(self): return T('x' * 100_000)
A()
""",
    "an error whose text ends all": "class E(Exception):\n def __str__(self): raise SystemExit\nraise E",
    "an end whose text ends all": "import sys\nclass E:\n def __str__(self): raise KeyboardInterrupt\nsys.exit(E())",
    "half a character": "raise ValueError('\\ud800')",
    "another pyplot": "import sys; sys.modules['matplotlib.pyplot'] = 5",
    "a pyplot that ends all": """
import sys, types
class P(types.ModuleType):
    def __getattr__(self, name): raise SystemExit
sys.modules['matplotlib.pyplot'] = P('p')
""",
    "no traceback": "import traceback, linecache; traceback.TracebackException = linecache.cache = None; 1 / 0",
    "no JSON": "import json; json.dumps = json.loads = json.JSONEncoder = json.encoder = None",
    "no system": "import os; os.read = os.write = os.close = None",
    "no parser": "import ast; ast.parse = ast.Expr = None",
    "no depth": "import sys; sys.setrecursionlimit(30)",
    "a trace that raises": "import sys; sys.settrace(lambda *a: 1 / 0)",
    "a profile that raises": "import sys; sys.setprofile(lambda *a: 1 / 0)",
    "an output that ends all": """
import sys
class O:
    def write(self, text): pass
    def flush(self): raise SystemExit
sys.stdout = sys.stderr = O()
""",
    "an alarm that rings later": """
import signal
def slow(*_): raise TimeoutError('too slow')
signal.signal(signal.SIGALRM, slow); signal.setitimer(signal.ITIMER_REAL, 0.03)
""",
    "an alarm that never ends": """
import signal, time
def slow(*_): raise TimeoutError('too slow')
signal.signal(signal.SIGALRM, slow); signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005); time.sleep(1)
""",
    "an alarm that nobody hears": "import signal; signal.setitimer(signal.ITIMER_REAL, 0.03, 0.01)",
    "signals of a thread": """
import os, signal, threading
def slow(*_): raise OSError('a signal')
signal.signal(signal.SIGUSR1, slow)
def send():
    for _ in range(300): os.kill(os.getpid(), signal.SIGUSR1)
threading.Thread(target=send).start()
""",
    "a thread that changes names while they are saved": """
import threading, time
def change():
    names = globals()
    for _ in range(200):
        for k in range(300): names[f't{k}'] = [k]
        for k in range(300): names.pop(f't{k}', None)
threading.Thread(target=change).start()
class A:
    def __reduce__(self): return time.sleep(0.01) or (int, ())
globals().update({f'a{k}': A() for k in range(3)})
""",
    "names that are none": "globals()[5] = globals()[('a',)] = globals()['\\ud800'] = globals()['y' * 10_000] = 4",
    "a name that ends all": """
class N(str):
    def __eq__(self, other): raise SystemExit
    def __hash__(self): return 1
globals()[N('n')] = 1
""",
    "code too deep": "-" * 50_000 + "1",
    "members too deep": "a" + ".b" * 50_000,
}
BUILTINS = (
    "len",
    "isinstance",
    "type",
    "str",
    "Exception",
    "BaseException",
    "dict",
    "list",
    "getattr",
    "__import__",
    "id",
)


@pytest.fixture(scope="module", params=WALLS)
def python(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[ExecutorFactory]:
    with executor_factory(tmp_path_factory.mktemp("telling"), walls()[request.param], ("numpy",)) as one:
        yield one


def answered(one: ExecutorProcess, code: str) -> ExecutorReply:
    """The answer of the code, which can be sent on."""
    ended, output = outcome(one, code)
    assert isinstance(ended, ExecutorReply), bytes(output.stderr)[-1000:]
    assert b"/loci/" not in output.stderr  # nor where it is installed
    json.dumps(
        str(python_result(ended, ExecutorCondition("kept"), limit_values(BOUNDS), ())), ensure_ascii=False
    ).encode()
    return ended


@each("name", HARMLESS)
def test_it_is_answered_and_variables_stay(python: ExecutorFactory, tried: Tried, name: str) -> None:
    with tried(name), python.executor(BOUNDS) as one:
        answered(one, "x = 41")
        answered(one, HARMLESS[name])
        value = answered(one, "x + 1").said["value"]
        assert value["text"] == "42"
        assert one.save(lambda _: None, 1 << 20, 10).said["ok"]


def test_errors_that_a_thread_raises_in_it_end_nothing(python: ExecutorFactory) -> None:
    code = """
import ctypes, threading, time
x, main = 41, threading.main_thread().ident
def strike():
    for error in (ValueError, EOFError, OSError, KeyboardInterrupt, SystemExit) * 20:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(error)); time.sleep(0.0003)
threading.Thread(target=strike).start()
"""
    with python.executor(BOUNDS) as one:
        answered(one, code)
        until(lambda: "'42'" in str(answered(one, "x + 1").said.get("value")))
        until(lambda: one.save(lambda _: None, 1 << 20, 10).said["ok"])


def test_a_handler_of_a_signal_stays_and_its_timer_does_not(python: ExecutorFactory) -> None:
    with python.executor(BOUNDS) as one:
        answered(one, "import signal\ndef f(*_): 1\nsignal.signal(signal.SIGALRM, f); signal.alarm(9)")
        assert printed(one, "print(signal.getsignal(signal.SIGALRM) is f, signal.alarm(0))") == "True 0\n"


@each("builtin", BUILTINS)
def test_a_builtin_that_code_sets_is_its_own_affair(python: ExecutorFactory, tried: Tried, builtin: str) -> None:
    with tried(builtin), python.executor(BOUNDS) as one:
        answered(one, f"x = 41; import builtins; builtins.{builtin} = None")
        assert answered(one, "x").said["value"]["text"] == "41"
        assert answered(one, builtin).said["value"] is None
        assert answered(one, "1 / 0").said["failure"]["type"] == "ZeroDivisionError"
        answered(one, f"del builtins.{builtin}")
        assert answered(one, builtin).said["failure"]["type"] == "NameError"
        assert one.save(lambda _: None, 1 << 20, 10).said["ok"]


def test_all_builtins_together_are_too(python: ExecutorFactory) -> None:
    with python.executor(BOUNDS) as one:
        answered(one, "x = 41; import builtins\nfor name in list(vars(builtins)): vars(builtins)[name] = None")
        assert answered(one, "x").said["value"]["text"] == "41"


def test_a_text_that_never_ends_is_interrupted(python: ExecutorFactory) -> None:
    code = "class E(Exception):\n def __str__(self):\n  while True: pass\nraise E"
    with python.executor(BOUNDS) as one:
        answered(one, "x = 41")
        assert one.run(code, no_files, cancelled=lambda: True).interrupted
        assert printed(one, "print(x)") == "41\n"


def test_the_parsers_limit_is_an_error_of_the_code_with_its_place(python: ExecutorFactory) -> None:
    for deep in ("-" * 50_000 + "1", "not " * 50_000 + "1", "a" + "[0]" * 50_000, "lambda:" * 20_000 + "1"):
        with python.executor(BOUNDS) as one:
            failure = answered(one, f"x = 1\n{deep}\n").said["failure"]
            assert failure["type"] == "SyntaxError"
            assert "nested too deeply for the parser" in failure["message"]
            assert "line 2" in failure["message"]
            assert "memory" not in failure


TOO_DEEP = {
    "brackets": ("x = 1\n\n" + "(" * 90_000 + ")" * 90_000, 3),
    "brackets in many lines": ("x = 1\n" + "[\n" * 5000 + "]" * 5000, 202),
    "a sum in many lines": ("def f():\n    return 1\n\nx = (" + "1 +\n" * 60_000 + "1)\ny = 'a longer line'", 60_005),
    "alternatives": (
        "y = 'a line'\nif y:\n pass\n" + "".join(f"elif y == {i}:\n pass\n" for i in range(20_000)) + "z = 1",
        20_004,
    ),
    "calls of calls": ("f = 1\nf" + "()" * 50_000, 2),
    "conditions": ("\n1 if 1 else " + "1 if 1 else " * 30_000 + "1", 2),
    "levels of indentation": ("".join(" " * i + "if 1:\n" for i in range(150)) + " " * 150 + "pass", 101),
    "loops in loops": ("".join(" " * i + "for i in []:\n" for i in range(30)) + " " * 30 + "pass", 21),
}


@each("name", TOO_DEEP)
def test_code_that_is_too_deep_is_told_with_its_line(python: ExecutorFactory, tried: Tried, name: str) -> None:
    code, line = TOO_DEEP[name]
    with tried(name), python.executor(replace(BOUNDS, seconds=30)) as one:
        failure = answered(one, code).said["failure"]
        assert failure["type"] in ("SyntaxError", "IndentationError")
        assert f"line {line})" in failure["message"]
        assert "memory" not in failure


@each(
    "code",
    [
        "eval('-' * 50_000 + '1')",
        "x = 1\nexec('-' * 50_000 + '1')",
        "def f(s): return compile(s, 'mine', 'eval')\nf('-' * 50_000 + '1')",
        "import ast\nast.parse('-' * 50_000 + '1')",
        "import ast\nast.literal_eval('-' * 50_000 + '1')",
        "import builtins; print(builtins.eval('not ' * 50_000 + '1'))",
    ],
)
def test_a_text_that_is_too_deep_to_be_read_as_code_is_no_want_of_memory(
    python: ExecutorFactory, tried: Tried, code: str
) -> None:
    with tried(code), python.executor(BOUNDS) as one:
        failure = answered(one, code).said["failure"]
        assert "memory" not in failure
        assert "nested too deeply for the parser" in failure["message"] or "RecursionError" in failure["type"]
        assert "line" in failure["traceback"]


@each("code", ["eval('bytes(1 << 40)')", "bytes(1 << 40)", "def parse(n): return bytes(n)\nparse(1 << 40)"])
def test_want_of_memory_is_told_as_such(python: ExecutorFactory, tried: Tried, code: str) -> None:
    with tried(code), python.executor(BOUNDS) as one:
        assert answered(one, code).said["failure"]["memory"] is True


def test_want_of_memory_for_the_parser_is_told_as_such(python: ExecutorFactory) -> None:
    with python.executor(replace(BOUNDS, memory_bytes=32 << 20, base_bytes=96 << 20)) as one:
        fill = "a, n = [], 1 << 20\nwhile n > 16:\n    try: a.append(bytes(n))\n    except MemoryError: n //= 2"
        answered(one, fill)
        assert answered(one, "1 + 1").said["failure"]["memory"] is True


@each(
    ("code", "advice"),
    [
        ("import subprocess; subprocess.run(['ls'])", "it starts no programs"),
        ("import subprocess; subprocess.check_output('ls', shell=True)", "it starts no programs"),
        ("import os; os.popen('ls').read()", "it starts no programs"),
        ("import os; os.fork()", "it starts no programs"),
        ("import multiprocessing as m; m.Process(target=print).start()", "it starts no processes"),
        ("import socket; socket.socket()", "it has no network"),
        ("import socket; socket.create_connection(('127.0.0.1', 1))", "it has no network"),
        ("import socket; socket.getaddrinfo('example.com', 80)", "it has no network"),
        ("import urllib.request as u; u.urlopen('http://127.0.0.1:1')", "it has no network"),
        ("import http.client as h; h.HTTPConnection('127.0.0.1').request('GET', '/')", "it has no network"),
        ("import multiprocessing as m; m.Pool(2)", "it starts no processes"),
    ],
)
def test_what_a_sandbox_refuses_says_so_and_what_to_do(
    python: ExecutorFactory, tried: Tried, code: str, advice: str
) -> None:
    with tried(code), python.executor(BOUNDS) as one:
        message = answered(one, code).said["failure"]["message"]
        assert f"this is a sandbox: {advice}" in message
        assert "Use " in message
        assert ("ThreadPoolExecutor" in message) == ("fork" in code or "multiprocessing" in code)


def test_what_raises_nothing_says_it_too(python: ExecutorFactory) -> None:
    with python.executor(BOUNDS) as one:
        assert b"this is a sandbox: it starts no programs" in answered(one, "import os; os.system('ls')").output.stderr
        assert printed(one, "import getpass; print(getpass.getuser())") == "sandbox\n"


@each("size", [10, 900_000])
def test_one_that_ends_before_it_has_read_its_run_says_that_nothing_has_begun(
    python: ExecutorFactory, tried: Tried, size: int
) -> None:
    with tried(str(size)):
        with python.executor(BOUNDS) as one:
            os.kill(one.id, signal.SIGKILL)
            with pytest.raises(ExecutorEnded) as ended:
                one.run(f"x = '{'y' * size}'", no_files)
            assert not ended.value.has_begun
        with python.executor(BOUNDS) as one, pytest.raises(ExecutorEnded) as ended:
            one.run("import os; os._exit(1)", no_files)
        assert ended.value.has_begun


def test_one_that_has_ended_is_noticed(python: ExecutorFactory) -> None:
    with python.executor(BOUNDS) as one:
        answered(one, "x = 1")
        assert one.is_alive
        os.kill(one.id, signal.SIGKILL)
        until(lambda: not one.is_alive)
