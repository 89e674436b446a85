"""What runs callers' code in a function holds its run's credentials: code of the same user does not look into it."""

import subprocess
import sys
from pathlib import Path

import pytest

from loci.sandbox.wall.kernel import PR_GET_DUMPABLE
from tests.support.functions import FUNCTIONS

SAID = f"""
import ctypes, sys
from pathlib import Path
from loci.sandbox.lambda_host import python_function, typescript_function
from tests.support.functions import loaded
python_function.PythonRuns.prepare = lambda self: None
loaded(Path(sys.argv[1]))
print(ctypes.CDLL(None).prctl({PR_GET_DUMPABLE}))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="functions run on Linux")
@pytest.mark.parametrize("function", ["run_python", "run_deno"])
def test_nobody_of_the_same_user_looks_into_the_handler(function: str, tmp_path: Path) -> None:
    environment = {
        "PYTHONPATH": f"{FUNCTIONS.parent}/shared:{FUNCTIONS.parent}",
        "LOCI_RUNNER": str(tmp_path),
        "LOCI_DENO": "deno",
        "TMPDIR": str(tmp_path),
    }
    ran = subprocess.run(
        [sys.executable, "-c", SAID, function], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout == "0\n", ran.stderr
