"""The examples of docs/moving.md, run."""

import re
import shlex
from pathlib import Path

from loci.authoring.edit_draft import EditDraft
from loci.core.identity import LOCAL
from tests.e2e.in_process import loci
from tests.e2e.test_moving import opened
from tests.support.docs import DOCS

GRAPH = """\
{"type":"entity","name":"Ann","entityType":"person","observations":["Likes rail"]}
{"type":"relation","from":"Ann","to":"Bo","relationType":"knows"}
"""


def examples() -> list[tuple[str, str]]:
    """Each command, and what it prints."""
    page = (DOCS / "moving.md").read_text("utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    return [
        (command, said)
        for block in blocks
        for command, said in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    ]


def test_each_example_prints_what_the_page_says(tmp_path: Path, data: Path) -> None:
    here = opened(data)
    for name in ("plan", "ferries"):
        draft = EditDraft("create", f"# {name}\n")
        here.authoring.write(LOCAL, f"notes/{name}.md", draft, expect=None)
    here.files.add(LOCAL, "birds.txt", b"The heron waits.\n")
    draft = EditDraft("create", "# Mine\n")
    opened(tmp_path / "changed").authoring.write(LOCAL, "notes/plan.md", draft, expect=None)
    (tmp_path / "memory.jsonl").write_text(GRAPH)
    ran = examples()
    assert len(ran) == 6
    paths = ("backup.zip", "memory.jsonl", "elsewhere", "changed")
    for command, said in ran:
        _, *arguments = shlex.split(command)
        ended = loci(data, *(str(tmp_path / one) if one in paths else one for one in arguments))
        assert ended.stdout.replace(f"{tmp_path}/", "") == said, (command, ended.stderr)
