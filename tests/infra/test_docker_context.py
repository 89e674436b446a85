"""Docker's own rules, from the tables of moby/patternmatcher: our reading of `.dockerignore` must be Docker's."""

from pathlib import Path

import pytest

from tests.infra.docker_context import copies, ignored, laid_out, patterns
from tests.support.each import each


@each(
    ("text", "path", "out"),
    [
        ("**", "file", True),
        ("**", "dir/file", True),
        ("**/", "dir/file", True),
        ("**/file", "file", True),
        ("**/file", "dir/dir/file", True),
        ("**/file", "dir/file.txt", False),
        ("dir/**", "dir/dir/file", True),
        ("**/dir2/*", "dir/dir2/file", True),
        ("a*", "a/b", True),
        ("*", "dir/file", True),
        ("*.md", "docs/README.md", False),
        ("**/*.md", "docs/README.md", True),
        ("dir/f?le", "dir/file", True),
        ("[a-c]at", "bat", True),
        ("/docs", "docs/README.md", True),
        ("docs/", "docs/README.md", True),
        ("./docs", "docs/README.md", True),
        ("docs\n!docs/README.md", "docs/README.md", False),
        ("docs\n!docs/README.md", "docs/other.md", True),
        ("docs\n!docs\ndocs/README.md", "docs/README.md", True),
        ("!docs/README.md\ndocs", "docs/README.md", True),
        ("*\n!shared/loci\n**/__pycache__", "shared/loci/a/__pycache__/b.pyc", True),
        ("*\n**/__pycache__\n!shared/loci", "shared/loci/a/__pycache__/b.pyc", False),
        ("# file\n", "file", False),
        (" # file", "# file", True),
        ("a.b", "axb", False),
    ],
)
def test_what_docker_leaves_out(text: str, path: str, out: bool) -> None:
    assert ignored(path, patterns(text)) is out


def test_what_a_dockerfile_copies() -> None:
    text = "FROM a AS b\nCOPY one two/ \\\n  three/\nCOPY --from=b x y\nCOPY --chown=1:1 four five\n"
    assert [(one.sources, one.target, one.of_context) for one in copies(text)] == [
        (("one", "two/"), "three/", True),
        (("x",), "y", False),
        (("four",), "five", True),
    ]


def test_what_is_ignored_cannot_be_copied(tmp_path: Path) -> None:
    for path in ("kept/file", "hidden/file"):
        (tmp_path / "context" / path).parent.mkdir(parents=True)
        (tmp_path / "context" / path).write_text("")
    (tmp_path / "context" / ".dockerignore").write_text("hidden\n")
    laid_out(tmp_path / "context", "COPY kept ${LAMBDA_TASK_ROOT}/lib", tmp_path)
    assert (tmp_path / "var" / "task" / "lib" / "file").is_file()
    with pytest.raises(AssertionError, match="COPY hidden: Docker does not find it"):
        laid_out(tmp_path / "context", "COPY hidden .", tmp_path)
