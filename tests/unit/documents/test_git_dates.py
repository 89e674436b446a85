"""Days of commits: read from any repository, and nothing that its settings name is run or reached."""

import os
import subprocess
from pathlib import Path

import pytest

from loci.documents.ingest.git_dates import GitDates

DAYS = ("2020-01-02", "2021-03-04", "2022-05-06")


def git(folder: Path, *command: str, day: str = DAYS[0], stdin: str = "") -> str:
    """Call git as a person with plain settings; returns its answer."""
    env = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        **{f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        **{f"GIT_{who}_DATE": f"{day}T12:00:00Z" for who in ("AUTHOR", "COMMITTER")},
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    call = ["git", "-C", str(folder), *command]
    ran = subprocess.run(call, env=env, input=stdin, capture_output=True, text=True, check=False)
    return ran.stdout


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A repository with a folder of notes: `old` and `new` are of the first commit, and `new` changed in the second."""
    top = tmp_path / "top"
    (top / "notes/é").mkdir(parents=True)
    git(tmp_path, "init", "-q", "top")
    for name in ("old.md", "new.md", "é/@ deep.md"):
        (top / "notes" / name).write_text(f"{name}\n")
    commit(top, DAYS[0])
    (top / "notes/new.md").write_text("newer\n")
    commit(top, DAYS[1])
    return top / "notes"


def commit(top: Path, day: str) -> None:
    git(top, "add", "-A")
    git(top, "commit", "-qm", "x", day=day)


def days(notes: Path, dates: GitDates | None = None) -> dict[str, str | None]:
    dates = dates or GitDates()
    files = sorted(one.relative_to(notes).as_posix() for one in notes.rglob("*.md"))
    return {one: dates.day(str(notes), one, (notes / one).read_bytes()) for one in files}


FOUND = {"old.md": DAYS[0], "new.md": DAYS[1], "é/@ deep.md": DAYS[0]}


def test_a_text_has_the_day_of_its_commit_also_under_a_new_name_and_another_change_has_none(notes: Path) -> None:
    assert days(notes) == FOUND
    (notes / "untracked.md").write_text("untracked\n")
    (notes / "new.md").write_text("changed here\n")
    git(notes, "mv", "old.md", "moved.md")
    git(notes, "commit", "-qm", "moved", "--", "old.md", "moved.md", day=DAYS[2])
    assert days(notes) == {"moved.md": DAYS[0], "new.md": None, "é/@ deep.md": DAYS[0], "untracked.md": None}


def test_the_last_commit_is_looked_for_again_after_a_second_and_a_text_of_a_merge_has_the_day_of_its_branch(
    notes: Path,
) -> None:
    now = 0.0
    dates = GitDates(lambda: now)
    assert days(notes, dates) == FOUND
    git(notes, "checkout", "-q", "-b", "side", "HEAD~1")
    (notes / "old.md").write_text("from a branch\n")
    commit(notes, DAYS[2])
    git(notes, "checkout", "-q", "-")
    git(notes, "merge", "-q", "side", "-m", "merge", day="2023-07-08")
    assert days(notes, dates)["old.md"] is None
    now = 2.0
    assert days(notes, dates) == FOUND | {"old.md": DAYS[2]}


def test_a_shallow_clone_knows_only_the_days_of_its_own_commits(notes: Path, tmp_path: Path) -> None:
    (notes / "old.md").write_text("older\n")
    commit(notes, DAYS[2])
    git(tmp_path, "clone", "-q", "--depth", "2", notes.parent.as_uri(), "shallow")
    assert days(tmp_path / "shallow/notes") == {"old.md": DAYS[2], "new.md": None, "é/@ deep.md": None}


def test_a_repository_inside_the_folder_counts_for_its_own_notes(notes: Path) -> None:
    inner = notes / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "a.md").write_text("a\n")
    commit(inner, DAYS[2])
    assert days(notes) == FOUND | {"inner/a.md": DAYS[2]}


def test_without_git_or_in_a_broken_repository_there_is_no_day(notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = dict.fromkeys(FOUND)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(notes))
        assert days(notes) == nothing
    (notes.parent / ".git/config").write_text("[core\n")
    assert days(notes) == nothing


def test_nothing_that_a_repository_names_is_run(notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every setting that names a program names one that leaves a mark, and a part of the history is elsewhere."""
    top, mark, program = notes.parent, tmp_path / "mark", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\ncat 2>/dev/null\n")
    program.chmod(0o755)
    (notes / "git").symlink_to(program)  # a program in the folder itself

    def asked_from_there() -> dict[str, str | None]:
        with monkeypatch.context() as patched:
            patched.chdir(notes)
            patched.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
            patched.setenv("GIT_EXTERNAL_DIFF", str(program))
            return days(notes)

    signed = git(top, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n", 1
    )
    git(top, "update-ref", "HEAD", git(top, "hash-object", "-t", "commit", "-w", "--stdin", stdin=signed).strip())
    (top / ".git/info/attributes").write_text("* diff=mark filter=mark merge=mark\n")
    for hook in ("post-index-change", "reference-transaction", "pre-auto-gc", "post-checkout", "fsmonitor-watchman"):
        (top / ".git/hooks" / hook).write_bytes(program.read_bytes())
        (top / ".git/hooks" / hook).chmod(0o755)
    names = (
        *("core.fsmonitor", "core.pager", "pager.log", "core.editor", "core.sshCommand", "core.gitProxy"),
        *("core.askPass", "core.alternateRefsCommand", "gpg.program", "gpg.ssh.program", "gpg.x509.program"),
        *("diff.external", "diff.mark.command", "diff.mark.textconv", "filter.mark.clean", "filter.mark.process"),
        *("filter.mark.smudge", "merge.mark.driver", "interactive.diffFilter", "uploadpack.packObjectsHook"),
        *("remote.origin.uploadpack", "trailer.x.command", "trailer.x.cmd", "sequence.editor", "ssh.variant"),
    )
    for name in names:
        git(top, "config", name, str(program))
    settings = {
        "alias.log": f"!{program}",
        "alias.rev-parse": f"!{program}",
        "credential.helper": f"!{program}",
        "log.showSignature": "true",
        "log.diffMerges": "remerge",
        "log.follow": "true",
        "log.showRoot": "false",
        "core.hooksPath": str(top / ".git/hooks"),
        "diff.relative": "false",
        "diff.renames": "copies",
        "format.pretty": "%GG",
        "color.ui": "always",
        "core.attributesFile": str(top / ".git/info/attributes"),
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{program}",
        "protocol.ext.allow": "always",
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
        "protocol.allow": "always",
    }
    for name, value in settings.items():
        git(top, "config", name, value)
    assert asked_from_there() == FOUND
    first = git(top, "rev-parse", "HEAD~1^{tree}").strip()
    (top / ".git/objects" / first[:2] / first[2:]).unlink()  # to be fetched
    assert asked_from_there() == dict.fromkeys(FOUND)
    assert not mark.exists()
    git(top, "log", "--show-signature", "-1")
    assert mark.exists()  # as without care
