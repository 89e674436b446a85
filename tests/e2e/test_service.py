"""`loci service`: the file that starts Loci at login, and the commands that apply it."""

import os
import plistlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.in_process import loci
from tests.support.serving import ADDRESS, clean_environment, post

ODD = '50% of "quo\'ted" $HOME\\n'
"""A folder's name that systemd would read otherwise if nothing of it were escaped."""
UNIT = Path(".config/systemd/user/loci.service")
AGENT = Path("Library/LaunchAgents/io.github.loci-mcp.loci.plist")
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')
Said = Callable[..., subprocess.CompletedProcess[str]]


def words(line: str, *, dollars: bool = True) -> list[str]:
    """The words of a line of a unit, as systemd.syntax(7) and systemd.service(5) read them."""
    assert not WORD.sub("", line).strip(), line
    found: list[str] = []
    for quoted in WORD.findall(line):
        word = re.sub(r"\\(.)", r"\1", quoted)
        for special in "%$" if dollars else "%":
            assert special not in word.replace(special * 2, ""), line
            word = word.replace(special * 2, special)
        found.append(word)
    return found


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """Return a folder with an odd name, in which an environment has this interpreter and these packages."""
    folder = tmp_path / ODD
    (folder / "venv" / "bin").mkdir(parents=True)
    (folder / "venv" / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    (folder / "venv" / "lib").symlink_to(Path(sys.prefix, "lib"))
    shutil.copy(Path(sys.prefix, "pyvenv.cfg"), folder / "venv")
    (folder / "venv" / "CACHEDIR.TAG").touch()  # as uv and virtualenv have it, so that no backup takes it
    (folder / "models").mkdir()
    return folder


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Said:
    """A command as on Linux, where a stand-in for systemctl and launchctl writes down what it was given."""
    monkeypatch.setattr(sys, "platform", "linux")
    (tmp_path / "bin").mkdir()
    for name in ("systemctl", "launchctl"):
        program = tmp_path / "bin" / name
        program.write_text(
            f'#!/bin/sh\necho {name} "$@" >> "{tmp_path}/asked"\ncase "$*" in *is-active*) echo active;; esac\n'
        )
        program.chmod(0o755)
    (tmp_path / "bin" / "loginctl").write_text('#!/bin/sh\necho "Linger=$LINGER"\n')
    (tmp_path / "bin" / "loginctl").chmod(0o755)

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        own = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "", "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
        return loci(tmp_path / "data", "service", *arguments, **own | environment)

    return run


@pytest.mark.smoke
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no systemd unit is printed")
def test_the_printed_command_starts_a_loci_that_answers_whatever_its_folders_are_called(odd: Path) -> None:
    environment = {**clean_environment(odd / "data"), "HOME": str(odd), "XDG_RUNTIME_DIR": str(odd)}
    program = [str(odd / "venv" / "bin" / "python"), "-m", "loci", "service", "install", "--print", "--port", "0"]
    printed = subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout
    lines = {name: told for name, _, told in (line.partition("=") for line in printed.splitlines())}
    assert words(lines["Environment"], dollars=False) == [f"PATH={environment['PATH']}"]
    assert not (odd / ".config").exists()
    if shutil.which("systemd-analyze"):
        (odd.parent / "loci.service").write_text(printed)
        verify = ["systemd-analyze", "verify", "--user", "--man=no", str(odd.parent / "loci.service")]
        checked = subprocess.run(verify, env=environment, capture_output=True, text=True, check=False)
        assert (checked.returncode, "loci.service" in checked.stderr) == (0, False), checked.stderr
    environment["LOCI_DATA"] = str(odd.parent / "not here")
    command = words(lines["ExecStart"])
    with subprocess.Popen(command, env=environment, cwd="/", stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout
            address = next((found[1] for line in server.stdout if (found := ADDRESS.search(line))), None)
            assert address
            assert post(f"{address}/healthz", b"", method="GET").status == 200
        finally:
            server.kill()
    assert (odd / "data" / "loci.db").exists()


def test_from_a_cache_that_may_be_cleaned_it_says_how_to_install_loci(odd: Path) -> None:
    (odd.parent / "CACHEDIR.TAG").touch()  # as in the cache of uv, in which uvx has its environments
    program = [str(odd / "venv" / "bin" / "python"), "-m", "loci", "service", "install", "--print"]
    ended = subprocess.run(program, env=clean_environment(odd / "data"), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, "uv tool install loci-mcp" in ended.stderr) == (1, "", True), ended.stderr


def test_installed_again_it_stops_the_old_one_and_uninstalled_it_is_gone(said: Said, tmp_path: Path) -> None:
    asked, unit = tmp_path / "asked", tmp_path / UNIT
    start = ["systemctl --user daemon-reload", "systemctl --user enable --now loci.service"]
    stop = ["systemctl --user stop loci.service", "systemctl --user disable loci.service"]
    assert "no, there is no" in said("status").stdout
    asked.unlink()
    installed = said("install", LOCI_AUTH="required")
    assert (installed.returncode, asked.read_text().splitlines()) == (0, start), installed.stderr
    assert "At login there is no LOCI_AUTH, LOCI_MODELS, LOCI_PULL_MODELS:" in installed.stderr
    assert [line for line in said("status").stdout.splitlines() if "Logs" not in line] == [
        f"At login: yes, by {unit}",
        "Runs now: yes",
    ]
    asked.unlink()
    for lingers, told in (("yes", False), ("no", True)):
        said("uninstall")
        ended = said("install", LINGER=lingers)
        assert ("loginctl enable-linger" in ended.stdout) == told, lingers
    asked.unlink()
    said("install", "--port", "8899")
    assert (asked.read_text().splitlines(), '"--port" "8899"' in unit.read_text()) == (stop + start, True)
    asked.unlink()
    said("uninstall")
    assert (asked.read_text().splitlines(), unit.exists()) == (stop, False)
    assert "does not start at login" in said("uninstall").stdout


def test_a_foreign_file_stays(said: Said, tmp_path: Path) -> None:
    unit = tmp_path / UNIT
    unit.parent.mkdir(parents=True)
    unit.write_text("[Service]\nExecStart=/opt/loci\n")
    for command in ("install", "uninstall"):
        ended = said(command)
        assert (ended.returncode, ended.stdout, "Loci did not write" in ended.stderr) == (1, "", True)
    assert (unit.read_text(), (tmp_path / "asked").exists()) == ("[Service]\nExecStart=/opt/loci\n", False)
    assert "Loci did not write" in said("status").stdout


def test_without_systemctl_it_says_what_it_wrote_and_what_to_type(said: Said, tmp_path: Path) -> None:
    ended = said("install", PATH=str(tmp_path / "empty"))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert f"Loci wrote {tmp_path / UNIT}, but it is not started: systemctl: No such file or directory" in ended.stderr
    assert "`systemctl --user daemon-reload; systemctl --user enable --now loci.service`" in ended.stderr
    assert "`systemctl --user stop loci.service;" in said("uninstall", PATH=str(tmp_path / "empty")).stderr
    assert not (tmp_path / UNIT).exists()


def test_on_macos_launchd_reads_what_to_start(said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    said("install", "--data", str(tmp_path / ODD))
    told = plistlib.loads((tmp_path / AGENT).read_bytes())
    assert told["ProgramArguments"][:2] == [sys.executable, "-P"]
    assert told["ProgramArguments"][-2:] == ["--data", str(tmp_path / ODD)]
    assert told["RunAtLoad"]
    said("uninstall")
    domain = f"gui/{os.getuid()}"
    assert (tmp_path / "asked").read_text().splitlines() == [
        f"launchctl bootstrap {domain} {tmp_path / AGENT}",
        f"launchctl bootout {domain}/{told['Label']}",
    ]
    assert not (tmp_path / AGENT).exists()


def test_on_windows_it_names_docker(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    for command in ("install", "uninstall", "status"):
        assert "docs/install.md#docker" in said(command).stderr
