"""`loci hook`: the help, and what is said of a wrong event. `loci.hook` answers the right ones, without this."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from loci.cli.terminal import DataOption

EXAMPLES = """Example:

  echo '{"prompt": "How do we deploy?"}' | loci hook user-prompt"""


def hook(
    event: Annotated[
        Literal["session-start", "user-prompt", "pre-compact", "session-end"],
        typer.Argument(metavar="EVENT", help="session-start, user-prompt, pre-compact or session-end."),
    ],
    data: DataOption = None,
) -> None:
    """Answer a hook of a coding client, whose JSON is on standard input.

    It asks the running Loci (LOCI_URL, LOCI_KEY, or the server that `loci connect --hooks` noted). session-start gives
    what your notes on the repository say was decided and is open; user-prompt, passages that certainly fit; the others
    have the transcript read, if you agreed to that. It says nothing if Loci does not answer, and always ends with 0.
    """
    from loci.hook import run  # the way past the command line, from which it mostly starts

    run([event, *(["--data", str(Path(data))] if data else [])])
