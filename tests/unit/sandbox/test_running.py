"""Code in an executor: what it shows, what it leaves for the next run, and how it fails."""

import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from loci.sandbox.supervisor.executor_process import ExecutorProcess
from loci.sandbox.supervisor.fork_server_client import ForkServer, interpreter
from loci.sandbox.supervisor.limits import Bounds
from tests.support.each import each
from tests.support.executors import PATIENT, ExecutorFactory, no_files, printed, runner_packages, walls

SHOWN = {
    "2 + 2": "4",
    "2 + 2;": "4",
    "2 + 2  # a comment": "4",
    "x = 5\nx": "5",
    "x = 5": None,
    "print('p')": None,
    "None": None,
    "'text'": "'text'",
    "{'a': 1}": "{'a': 1}",
    "[i for i in range(3)]": "[0, 1, 2]",
    "def f(): return 1\nf()": "1",
    "if True:\n    7": None,
    "import math; math.pi": "3.141592653589793",
    "'''a\nb'''": "'a\\nb'",
    "(1,\n 2)": "(1, 2)",
    "lambda: 1\n1 if True else 2": "1",
    "class A:\n    def __repr__(self): return 'an A'\nA()": "an A",
    "": None,
    "# only a comment": None,
    "\n\n3\n\n": "3",
    "import pandas as pd\npd.DataFrame({'a': [1, 2]})": "   a\n0  1\n1  2",
    "import numpy as np\nnp.arange(3)": "array([0, 1, 2])",
}
WRONG = {
    "1 / 0": "ZeroDivisionError: division by zero",
    "x ===": "SyntaxError: invalid syntax",
    "  indented": "IndentationError: unexpected indent",
    "undefined_name": "NameError: name 'undefined_name' is not defined",
    "raise SystemError('s')": "SystemError: s",
    "import no_such_module": "ModuleNotFoundError: No module named 'no_such_module'",
    "class E(Exception):\n    def __str__(self): raise ValueError\nraise E": "E: <exception str() failed>",
    "def f(): return f()\nf()": "RecursionError: maximum recursion depth exceeded",
    "raise ExceptionGroup('g', [ValueError(1)])": "ExceptionGroup: g (1 sub-exception)",
    "'\\0'.encode('ascii').decode('no codec')": "LookupError: unknown encoding: no codec",
}
PACKAGES = ("pandas", "numpy", "openpyxl", "xlrd", "scipy", "sklearn", "xgboost", "matplotlib")


PROGRAMS = {
    "a main function": "def main(): print('main')\nif __name__ == '__main__': main()",
    "cross-validation with jobs": """
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
X = np.random.rand(100, 4); y = (X[:, 0] > .5).astype(int)
cross_val_score(LogisticRegression(), X, y, n_jobs=2)
GridSearchCV(RandomForestClassifier(3), {"max_depth": [2, 3]}, n_jobs=-1, cv=2).fit(X, y)
""",
    "boosted trees": """
import numpy as np, xgboost
xgboost.train({}, xgboost.DMatrix(np.random.rand(50, 3), label=np.random.rand(50)), 3)
""",
    "a figure in a file": "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig('a.png')",
    "a pool of threads": "import concurrent.futures as c\nwith c.ThreadPoolExecutor(4) as t: list(t.map(abs, [-1, 2]))",
    "a database": "import sqlite3\nsqlite3.connect('x.db').execute('create table t(a)')",
    "an event loop": "import asyncio\nasyncio.run(asyncio.sleep(0.001))",
    "time zones": "import datetime, zoneinfo\ndatetime.datetime.now(zoneinfo.ZoneInfo('Asia/Tokyo'))",
    "statistics": "import scipy.stats as st\nst.ttest_ind([1, 2, 3], [2, 3, 4])",
    "secrets and hashes": "import getpass, hashlib, secrets, ssl, uuid\nuuid.uuid1()",
}


@pytest.fixture(scope="module")
def shared(python: ExecutorFactory) -> Generator[ExecutorProcess]:
    with python.executor(Bounds(seconds=50)) as one:
        yield one


def failed(executor: ExecutorProcess, code: str) -> dict[str, Any]:
    said = executor.run(code, no_files).said
    assert not said["ok"]
    return said["failure"]


@each(("code", "value"), SHOWN.items())
def test_the_value_of_a_last_expression_is_shown(shared: ExecutorProcess, code: str, value: str | None) -> None:
    said = shared.run(code, no_files).said
    assert said["ok"], said
    assert (said["value"]["text"] if said["value"] else None) == value


@each(("code", "last"), WRONG.items())
def test_what_goes_wrong_is_told_as_python_tells_it(shared: ExecutorProcess, code: str, last: str) -> None:
    told = failed(shared, code)["traceback"]
    assert last in told
    assert "sandbox" not in told


def test_a_traceback_has_the_frames_of_the_callers_code_only(shared: ExecutorProcess) -> None:
    code = """
import json
def parse(text):
    return json.loads(text)
try:
    parse('x')
except ValueError as e:
    raise KeyError('k') from e
"""
    told = failed(shared, code)["traceback"]
    assert re.findall(r'File "(<run \d+>)", line (\d+)', told)[0][1] == "6"
    assert told.count('File "') == told.count('File "<run ') == 3
    assert "return json.loads(text)" in told
    assert "The above exception was the direct cause" in told


def test_variables_functions_and_imports_stay(executor: ExecutorProcess) -> None:
    printed(executor, "import math\nx = 41\ndef f(): return x + 1")
    assert printed(executor, "print(f(), math.floor(1.5))") == "42 1\n"
    assert executor.run("pass", no_files).said["names"] == ["math", "x", "f"]


def test_what_failed_takes_nothing_along(executor: ExecutorProcess) -> None:
    failed(executor, "a = 1\n1 / 0\nb = 2")
    assert printed(executor, "print('a' in globals(), 'b' in globals())") == "True False\n"


def test_executors_know_nothing_of_each_other(python: ExecutorFactory) -> None:
    with python.executor(PATIENT) as one, python.executor(PATIENT) as other:
        printed(one, "import builtins, json\nx = 1\nbuiltins.leak = 1\njson.leak = 1\nopen('f.txt', 'w').write('f')")
        code = "import builtins, json, os\nprint('x' in globals(), hasattr(builtins, 'leak'), hasattr(json, 'leak'))"
        assert printed(other, code) == "False False False\n"
        assert printed(other, "print(os.listdir())") == "[]\n"


def test_executors_do_not_draw_the_same_numbers(python: ExecutorFactory) -> None:
    code = "import random, numpy\nprint(random.random(), numpy.random.rand())"
    with python.executor(PATIENT) as one, python.executor(PATIENT) as other:
        first, second = printed(one, code).split(), printed(other, code).split()
    assert not set(first) & set(second)


def test_output_of_both_kinds_is_kept_apart(executor: ExecutorProcess) -> None:
    code = "import os, sys\nprint('out')\nprint('err', file=sys.stderr)\nos.write(1, b'\\xff\\n')"
    reply = executor.run(code, no_files)
    assert (bytes(reply.output.stdout), bytes(reply.output.stderr)) == (b"out\n\xff\n", b"err\n")


def test_output_past_the_limit_is_counted_and_dropped(executor: ExecutorProcess) -> None:
    reply = executor.run("print('y' * (3 << 20))\nprint('end')", no_files)
    assert len(reply.output.stdout) == 1 << 20
    assert reply.output.dropped == (2 << 20) + 5


def test_sys_exit_ends_the_run_and_not_the_executor(executor: ExecutorProcess) -> None:
    assert executor.run("import sys\nx = 1\nsys.exit()", no_files).said["ok"]
    assert failed(executor, "sys.exit('bad input')") == {"exit": "bad input"}
    assert printed(executor, "print(x)") == "1\n"


@each("what", PROGRAMS)
def test_an_ordinary_program_runs_and_complains_of_nothing(shared: ExecutorProcess, what: str) -> None:
    reply = shared.run(PROGRAMS[what], no_files)
    assert reply.said["ok"], reply.said
    assert bytes(reply.output.stderr) == b""


@each("package", PACKAGES)
def test_a_package_is_there(shared: ExecutorProcess, package: str) -> None:
    assert printed(shared, f"import {package}\nprint({package}.__name__)") == f"{package}\n"


def test_models_are_trained_with_threads(python: ExecutorFactory) -> None:
    code = """
import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
import xgboost
X = np.random.rand(200, 4); y = (X[:, 0] > .5).astype(int)
RandomForestClassifier(5, n_jobs=2).fit(X, y); KMeans(2, n_init=1).fit(X)
xgboost.XGBClassifier(n_estimators=3, n_jobs=2).fit(X, y)
np.linalg.svd(X @ X.T)
print("fitted")
"""
    with python.executor(Bounds(seconds=50)) as one:
        assert printed(one, code) == "fitted\n"


def test_a_workbook_is_written_and_read(python: ExecutorFactory) -> None:
    with python.executor(Bounds(seconds=50)) as one:
        printed(one, "import pandas as pd\npd.DataFrame({'a': [1, 2]}).to_excel('t.xlsx', index=False)")
        assert printed(one, "print(pd.read_excel('t.xlsx').a.sum())") == "3\n"


def test_figures_are_images_and_are_closed(python: ExecutorFactory) -> None:
    code = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nplt.figure()\nplt.bar([1], [2]);"
    with python.executor(Bounds(seconds=50)) as one:
        reply = one.run(code, no_files)
        assert [piece[:4] for piece in reply.pieces] == [b"\x89PNG"] * 2
        assert one.run("plt.get_fignums()", no_files).said["value"]["text"] == "[]"
        assert (bytes(reply.output.stderr), one.run("1", no_files).pieces) == (b"", ())


def test_a_module_in_the_work_folder_can_be_imported_and_takes_no_others_place(executor: ExecutorProcess) -> None:
    printed(executor, "open('mine.py', 'w').write('y = 7')\nopen('json.py', 'w').write('y = 8')")
    assert printed(executor, "import mine, json, sys\nprint(mine.y, hasattr(json, 'y'))") == "7 False\n"


def test_temporary_files_and_copies_can_be_made(executor: ExecutorProcess) -> None:
    printed(executor, "import tempfile\nwith tempfile.NamedTemporaryFile() as f: f.write(b'x')")
    assert printed(executor, "import shutil\nopen('a', 'w').write('a')\nprint(shutil.copy2('a', 'b'))") == "b\n"


def test_a_stored_file_is_asked_for_by_its_id(python: ExecutorFactory) -> None:
    folders = python.folders()
    (folders.memory / "1").mkdir()
    (folders.memory / "1" / "a.txt").write_text("stored")
    asked: list[tuple[str, str]] = []

    def memory(id: str, name: str) -> dict[str, str]:
        asked.append((id, name))
        return {"path": str(folders.memory / "1" / "a.txt")} if id == "ds-1" else {"missing": "no such file"}

    with python.executor(folders=folders) as one:
        code = "p = get_memory_path('ds-1', 'other.txt')\nprint(type(p).__name__, p.name, p.read_text())\n"
        reply = one.run(code + "get_memory_path(memory_id='ds-2')", memory)
    assert bytes(reply.output.stdout) == b"PosixPath a.txt stored\n"
    assert reply.said["failure"]["message"] == "no such file"
    assert asked == [("ds-1", "other.txt"), ("ds-2", "")]


def test_the_interpreters_own_folders_are_readable_wherever_they_lie(executor: ExecutorProcess) -> None:
    code = "import sys, os, wave\nprint(os.path.exists(sys.base_prefix), len(open(os.__file__).read(3)))"
    assert printed(executor, code) == "True 3\n"


def test_an_interpreter_that_is_reached_through_a_link_finds_its_modules(
    python: ExecutorFactory, tmp_path: Path
) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "linked").symlink_to(runner_packages())
    (tmp_path / "linked twice").symlink_to(tmp_path / "linked")
    linked = interpreter(tmp_path / "linked twice" / "bin" / "python")
    server = ForkServer(linked, walls()["strongest"], tmp_path / "cache", packages=(), drawing=False)
    try:
        with ExecutorFactory(server, tmp_path).executor(Bounds(seconds=50)) as one:
            assert printed(one, "import openpyxl, wave\nprint(openpyxl.__name__)") == "openpyxl\n"
    finally:
        server.close()


def test_of_a_systems_python_only_libraries_are_readable() -> None:
    readable = interpreter(Path("/usr/bin/python3")).readable
    assert not {"/", "/usr", "/usr/local", "/etc"} & set(readable)
