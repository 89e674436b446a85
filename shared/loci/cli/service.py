"""`loci service`: start Loci at login, by a systemd user unit on Linux and a launchd agent on macOS."""

import os
import plistlib
import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from loci.cli.client_files import programs_folder
from loci.cli.terminal import ConfigOption, DataOption, printable, value
from loci.core.errors import Refused, Unavailable
from loci.core.settings import PREFIX, sourced_settings

Command = tuple[str, ...]
MARK: Final = "Written by loci service install, which replaces this file"
"""In the first line of each file that Loci wrote."""
UNIT: Final = "loci.service"
LABEL: Final = "io.github.loci-mcp.loci"
PAUSE: Final = 10
"""Seconds until the system starts Loci again after a failure."""

cli = typer.Typer(help="Start Loci at login, and look whether it runs.", no_args_is_help=True, rich_markup_mode=None)


@dataclass(frozen=True, slots=True)
class LoginItem:
    """A file that tells the system what to start at login, and the commands that apply it."""

    file: Path
    text: str
    logs: str
    start: tuple[Command, ...]
    stop: tuple[Command, ...]
    ask: Command
    running: str
    """In the answer to `ask` if Loci runs."""

    @property
    def is_own(self) -> bool:
        """True if Loci wrote the file."""
        with self.file.open("rb") as opened:
            return MARK.encode() in opened.readline()

    def refuse_foreign(self) -> None:
        """Raise `Refused` if somebody else wrote the file."""
        if self.file.exists() and not self.is_own:
            raise Refused(f"Loci did not write {self.file}", "Move that file away, then try again")


@cli.command()
def install(
    port: Annotated[int | None, value("The port to listen on. [8765]", "--port", "P")] = None,
    data: DataOption = None,
    config: ConfigOption = None,
    only_print: Annotated[bool, typer.Option("--print", help="Print the file, and change nothing.")] = False,
) -> None:
    """Start Loci now and at each login, by a systemd user unit on Linux and a launchd agent on macOS.

    The system starts Loci again after a failure. To change the port or a folder, install again.
    """
    _refuse_cache()
    found = sourced_settings({"port": port, "data": data}, config)
    named = config or os.environ.get(f"{PREFIX}CONFIG")
    options = ["--port", str(found.settings.port), "--data", str(found.settings.data.absolute())]
    options += ["--config", str(Path(named).expanduser().absolute())] if named else []
    item = _login_item(options)
    lost = [one for name, one in found.sources.items() if one.startswith(PREFIX) and name not in ("port", "data")]
    if lost:
        typer.echo(f"At login there is no {', '.join(sorted(lost))}: write such settings in config.toml.", err=True)
    if only_print:
        typer.echo(item.text, nl=False)
        return
    item.refuse_foreign()
    if item.file.exists():
        _failure(item.stop)  # perhaps it does not run
    item.file.parent.mkdir(parents=True, exist_ok=True)
    item.file.write_text(item.text, "utf-8")
    if failed := _failure(item.start):
        raise Unavailable(f"Loci wrote {item.file}, but it is not started: {failed[0]}", f"Then type `{failed[1]}`")
    typer.echo(printable(f"Loci starts now and at each login: {item.file}\nLogs: {item.logs}"))
    if "Linger=no" in _run(("loginctl", "show-user", str(os.getuid()), "--property=Linger")).stdout:
        typer.echo("It ends when you log out. To run it from the start of this machine on: loginctl enable-linger")


def _refuse_cache() -> None:
    """Refuse an environment below a cache, such as the one of uvx: what starts at login must stay where it is."""
    for one in Path(sys.prefix).parents:
        if (one / "CACHEDIR.TAG").exists():
            what = f"Loci runs from the cache {one}, and stops working when somebody cleans that"
            raise Refused(what, "Install it: uv tool install loci-mcp. Then type: loci service install")


@cli.command()
def uninstall() -> None:
    """Stop Loci, and start it no longer at login. Your data stays."""
    item = _login_item()
    if not item.file.exists():
        typer.echo(printable(f"Loci does not start at login: there is no {item.file}"))
        return
    item.refuse_foreign()
    failed = _failure(item.stop)
    item.file.unlink()
    if failed:
        raise Unavailable(f"Loci removed {item.file}, but may still run: {failed[0]}", f"Then type `{failed[1]}`")
    typer.echo(printable(f"Loci is stopped, and starts no longer at login: removed {item.file}"))


@cli.command()
def status() -> None:
    """Show whether Loci starts at login and runs now, and where its logs are."""
    item = _login_item()
    there = "no, there is no" if not item.file.exists() else "yes, by" if item.is_own else "Loci did not write"
    ran = _run(item.ask)
    runs = _said(ran) if ran.returncode else "yes" if item.running in ran.stdout else "no"
    typer.echo(printable(f"At login: {there} {item.file}"))
    typer.echo(printable(f"Runs now: {runs}"))
    typer.echo(printable(f"Logs:     {item.logs}"))


def _login_item(options: Sequence[str] = ()) -> LoginItem:
    if made := {"linux": _systemd_unit, "darwin": _launchd_agent}.get(sys.platform):
        # -P: never with modules of the folder that the system starts it in.
        return made([sys.executable, "-P", "-m", "loci", "serve", *options], os.environ.get("PATH", os.defpath))
    raise Refused("Loci starts at login on Linux and macOS only", "Start it with Docker: docs/install.md#docker")


def _systemd_unit(command: Sequence[str], path: str) -> LoginItem:
    logs, systemctl = f"journalctl --user --unit {UNIT}", ("systemctl", "--user")
    # Also quoted, systemd starts no program whose path has one of these; env does.
    through = ["/usr/bin/env"] if any(one in command[0] for one in "\"'\\$") else []
    words = " ".join(_quoted(word).replace("$", "$$") for word in (*through, *command))
    return LoginItem(
        file=programs_folder() / "systemd" / "user" / UNIT,
        # The system's own PATH would hide npx from tool servers.
        text=f"""\
# {MARK}
# Logs: {logs}
[Unit]
Description=Loci, memory and tools for agents

[Service]
ExecStart={words}
Environment={_quoted(f"PATH={path}")}
Restart=on-failure
RestartSec={PAUSE}

[Install]
WantedBy=default.target
""",
        logs=logs,
        start=((*systemctl, "daemon-reload"), (*systemctl, "enable", "--now", UNIT)),
        stop=((*systemctl, "stop", UNIT), (*systemctl, "disable", UNIT)),
        ask=(*systemctl, "is-active", UNIT),
        running="active",
    )


def _quoted(word: str) -> str:
    """Quote a word as systemd.syntax(7) has it. `%` begins what systemd fills in."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("%", "%%")
    return f'"{escaped}"'


def _launchd_agent(command: Sequence[str], path: str) -> LoginItem:
    domain, library = f"gui/{os.getuid()}", Path.home() / "Library"
    file, logs = library / "LaunchAgents" / f"{LABEL}.plist", str(library / "Logs" / "loci.log")
    told: dict[str, object] = dict.fromkeys(("StandardOutPath", "StandardErrorPath"), logs)
    told |= {"Label": LABEL, "ProgramArguments": [*command], "EnvironmentVariables": {"PATH": path}}
    told |= {"RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}, "ThrottleInterval": PAUSE}
    return LoginItem(
        file=file,
        text=plistlib.dumps(told).decode().replace("?>", f"?> <!-- {MARK} -->", 1),
        logs=logs,
        start=(("launchctl", "bootstrap", domain, str(file)),),
        stop=(("launchctl", "bootout", f"{domain}/{LABEL}"),),
        ask=("launchctl", "print", f"{domain}/{LABEL}"),
        running="state = running",
    )


def _failure(commands: Sequence[Command]) -> tuple[str, str] | None:
    """Run the commands up to the first that fails. Return why, and the commands that are left to type."""
    for number, command in enumerate(commands):
        ran = _run(command)
        if ran.returncode:
            return _said(ran), "; ".join(shlex.join(one) for one in commands[number:])
    return None


def _run(command: Command) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)  # noqa: S603
    except OSError as error:
        return subprocess.CompletedProcess(command, 127, "", f"{command[0]}: {error.strerror}")


def _said(ran: subprocess.CompletedProcess[str]) -> str:
    return (ran.stderr or ran.stdout).strip().partition("\n")[0] or f"{ran.args[0]} ended with {ran.returncode}"
