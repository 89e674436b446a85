"""Limits of control groups: where there is a place for them; and, on a kernel that gives one, that they hold."""

import os
import subprocess
import sys
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from loci.code.ports import Completed, Failed
from loci.sandbox.supervisor import deno_starter, fork_server_client
from loci.sandbox.supervisor.control_groups import (
    ControlGroup,
    GroupLimits,
    GroupParent,
    end_group,
    find_group_parent,
    limited,
)
from loci.sandbox.supervisor.executor_process import ExecutorEnded
from loci.sandbox.supervisor.limits import Bounds
from tests.support.deno import STRONGEST, Given, needs_deno, run, sandbox
from tests.support.each import each
from tests.support.executors import PATIENT, ExecutorFactory, printed, tried
from tests.support.polling import until

MB = 1 << 20
HERE = find_group_parent()
needs_groups = pytest.mark.skipif(
    isinstance(HERE, str),
    reason=f"NO LIMIT OF CGROUPS IS TRIED HERE: {HERE}. Run the tests in a unit of systemd that has Delegate=yes",
)


class Seen:
    """What a process sees of its group, as files of their shape, which only `find_group_parent` reads."""

    def __init__(self, folder: Path) -> None:
        self.process, self.root = folder / "proc", folder / "cgroup"
        self.process.mkdir()
        self.root.mkdir()

    def own(self, path: str, *, kind: str = "cgroup2", root: str = "/") -> None:
        (self.process / "cgroup").write_text(f"5:memory:/elsewhere\n0::{path}\n")
        mounts = f"1 1 0:1 / / rw - ext4 disk rw\n2 1 0:2 {root} {self.root} rw shared:1 - {kind} cgroup rw\n"
        (self.process / "mountinfo").write_text(mounts)

    def group(self, path: str, *, controllers: str = "cpuset cpu io memory pids", is_delegated: bool = False) -> str:
        folder = self.root / path.strip("/")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "cgroup.controllers").write_text(f"{controllers}\n")
        (folder / "cgroup.subtree_control").write_text("")
        (folder / "cgroup.type").write_text("domain\n")
        (folder / "cgroup.procs").write_text(f"{os.getpid()}\n")
        if is_delegated:
            try:
                os.setxattr(folder, "user.delegate", b"1")
            except OSError:
                pytest.skip("the file system of temporary files takes no attributes")
        return str(folder)

    def place(self) -> GroupParent | str:
        return find_group_parent(str(self.process))


@pytest.fixture
def seen(tmp_path: Path) -> Seen:
    return Seen(tmp_path)


ALL = ("memory", "pids", "cpu")


def test_a_delegated_unit_is_a_place(seen: Seen) -> None:
    seen.own("/system.slice/loci.service")
    folder = seen.group("/system.slice/loci.service", is_delegated=True)
    assert seen.place() == GroupParent(folder, ALL, None)


def test_so_is_the_group_above_if_systemd_started_it_in_a_part(seen: Seen) -> None:
    seen.own("/system.slice/loci.service/main")
    folder = seen.group("/system.slice/loci.service", is_delegated=True)
    member = seen.group("/system.slice/loci.service/main")
    assert seen.place() == GroupParent(folder, ALL, member)


def test_so_is_what_a_container_has_to_itself(seen: Seen) -> None:
    seen.own("/")
    folder = seen.group("/", controllers="memory pids")
    assert seen.place() == GroupParent(folder, ("memory", "pids"), None)
    seen.own("/part")
    assert seen.place() == GroupParent(folder, ("memory", "pids"), seen.group("/part"))


def test_a_container_sees_its_group_where_it_is_mounted(seen: Seen) -> None:
    seen.own("/docker/one", root="/docker/one")
    folder = seen.group("/", is_delegated=True)
    assert seen.place() == GroupParent(folder, ALL, None)


@each(
    ("own", "delegated"),
    [
        ("/system.slice/loci.service", ""),
        ("/user.slice/user-1.slice/session-1.scope", ""),
        ("/user.slice/user@1.service/app.slice/terminal.scope", "/user.slice/user@1.service"),
        ("/user.slice/user@1.service/loci.service", "/user.slice/user@1.service"),
        ("/init.scope", ""),
    ],
)
def test_what_systemd_manages_is_none(seen: Seen, own: str, delegated: str) -> None:
    seen.own(own)
    seen.group(own)
    seen.group("/")
    if delegated:
        seen.group(delegated, is_delegated=True)
    assert "is not delegated" in str(seen.place())


def test_a_group_that_cannot_be_written_is_none(seen: Seen) -> None:
    seen.own("/")
    folder = seen.group("/")
    Path(folder, "cgroup.subtree_control").unlink()
    assert "cannot be written" in str(seen.place())


def test_controllers_of_version_1_are_none(seen: Seen) -> None:
    seen.own("/")
    seen.group("/", controllers="hugetlb")
    assert "cgroup v1 may have" in str(seen.place())
    seen.own("/", kind="cgroup")
    assert "is not mounted" in str(seen.place())
    (seen.process / "cgroup").write_text("5:memory:/\n")
    assert "this system has none" in str(seen.place())


def test_other_programs_are_left_where_they_are(seen: Seen) -> None:
    seen.own("/")
    folder = seen.group("/")
    Path(folder, "cgroup.procs").write_text(f"{os.getpid()}\n1\n")
    assert "1 other programs are in its group" in str(seen.place())


@pytest.fixture
def child() -> Generator["subprocess.Popen[str]"]:
    """An interpreter that runs the lines it is sent."""
    code = "import sys\nfor line in sys.stdin: exec(line); print('done', flush=True)"
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as one:
        yield one
        one.kill()


def told(child: "subprocess.Popen[str]", code: str) -> str:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(f"{code}\n")
    child.stdin.flush()
    return child.stdout.readline()


def group_of(process: int) -> Path:
    assert isinstance(HERE, GroupParent)
    own = Path(f"/proc/{process}/cgroup").read_text().rpartition("0::")[2].strip()
    return Path(HERE.folder, "loci-runs", own.rpartition("/")[2])


LIMITS = GroupLimits(memory_bytes=64 * MB, tasks=8, processors=1)


@needs_groups
def test_a_process_takes_no_more_memory_than_its_group_has(child: "subprocess.Popen[str]") -> None:
    group = limited(child.pid, LIMITS)
    assert group is not None
    assert told(child, "held = b'x' * (32 << 20)") == "done\n"
    assert not group.was_out_of_memory
    # Nobody's watch sees this memory, and no limit of a process counts it.
    code = "import mmap; shared = mmap.mmap(-1, 200 << 20); shared.write(b'x' * (16 << 20))"
    assert told(child, code + "; [shared.write(b'x' * (16 << 20)) for _ in range(9)]") == ""
    assert group.was_out_of_memory
    end_group(group)


@needs_groups
def test_it_starts_no_more_tasks_and_has_no_more_processors(child: "subprocess.Popen[str]") -> None:
    group = limited(child.pid, LIMITS)
    assert group is not None
    folder = group_of(child.pid)
    assert (folder / "cpu.max").read_text() == "100000 100000\n"
    one = "threading.Thread(target=time.sleep, args=[99], daemon=True).start()"
    code = f"import threading, time; [{one} for _ in range(@)]"
    assert told(child, code.replace("@", "7")) == "done\n"
    assert told(child, code.replace("@", "1")) == ""  # it could not, and ended
    end_group(group)


@needs_groups
def test_a_group_goes_with_its_process(child: "subprocess.Popen[str]") -> None:
    group = limited(child.pid, LIMITS)
    folder = group_of(child.pid)
    assert folder.exists()
    end_group(group)
    child.wait(60)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1) as next_one:
        end_group(limited(next_one.pid, LIMITS))
    assert not folder.exists()


@needs_groups
def test_the_server_and_what_it_started_before_are_in_a_group_of_their_own(child: "subprocess.Popen[str]") -> None:
    group = limited(child.pid, LIMITS)
    own = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].strip()
    assert not own.endswith("loci-runs")
    assert (
        own.rpartition("/")[0] == Path(f"/proc/{child.pid}/cgroup").read_text().rpartition("0::")[2].rsplit("/", 2)[0]
    )
    end_group(group)


@needs_groups
def test_an_executor_is_ended_by_its_group_and_that_is_told(
    python: ExecutorFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def little(bounds: Bounds) -> GroupLimits:
        return replace(LIMITS, tasks=bounds.threads)

    with python.executor() as one:
        assert printed(one, "print(open('/proc/self/cgroup').read().count('loci-runs'))").strip() in ("0", "1")
        folder = group_of(one.id)
        assert int((folder / "pids.max").read_text()) == 128
        assert int((folder / "memory.max").read_text()) == (256 + 128 + 64) * MB
    until(lambda: not folder.exists() or not (folder / "cgroup.procs").read_text())
    monkeypatch.setattr(fork_server_client, "_group_limits", little)
    with python.executor(replace(PATIENT, seconds=60)) as one:
        ended, _ = tried(one, "held = [b'x' * (1 << 20) for _ in range(120)]")
        assert isinstance(ended, ExecutorEnded)
        assert ended.why == "memory"


@needs_groups
@needs_deno
def test_so_is_typescript(monkeypatch: pytest.MonkeyPatch) -> None:
    def little(process: int, limits: GroupLimits) -> ControlGroup | None:
        return limited(process, replace(limits, memory_bytes=48 * MB))

    with sandbox(STRONGEST, 0) as deno:
        assert isinstance(run(deno, "2 + 2"), Completed)
        monkeypatch.setattr(deno_starter, "limited", little)
        ended = run(deno, "new Uint8Array(200 << 20).fill(1).length", Given(timeout_ms=60_000))
    assert isinstance(ended, Failed)
    assert ended.code == "SANDBOX_MEMORY"
