"""Commands in this process, in a tenth of the time that a process of their own takes: for what is about no process.

It is for no command that starts processes, and not while others of this process read its environment.
"""

import gc
import io
import os
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from unittest.mock import patch

import typer

from loci.cli.main import cli, main
from tests.support.serving import LOCI, clean_environment

COMMAND = typer.main.get_command(cli)
"""Made once: it is most of a short command's time."""


def loci(data: Path, *arguments: str, **environment: str) -> CompletedProcess[str]:
    """What `tests.support.serving.loci` returns."""
    out, err, code = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO(), 0
    with (
        patch.dict(os.environ, clean_environment(data, **environment), clear=True),
        patch("loci.cli.main.cli", COMMAND),
        patch.object(sys, "argv", ["loci", *arguments]),
        patch.object(sys, "stdin", io.StringIO()),
        redirect_stdout(out),
        redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore", ResourceWarning)
        try:
            main()
        except SystemExit as ended:
            code = int(ended.code or 0)
        gc.collect()  # a process that ends takes its files and connections along
    out.flush()
    said = out.buffer.getvalue().decode()  # pyright: ignore[reportAttributeAccessIssue]
    return CompletedProcess([*LOCI, *arguments], code, said, err.getvalue())
