"""`loci pin`: set the PIN with which a person approves."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from loci.auth.pins import Pins, check_new, no_pin, pin_hash, pins_of
from loci.cli.terminal import ConfigOption, DataOption, open_app
from loci.core.errors import Refused
from loci.core.settings import INSIDE


def pin(
    print_hash: Annotated[
        bool, typer.Option("--print", help="Store nothing: print the hash, for LOCI_PIN_HASH of a server elsewhere.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Set your PIN, or change it: with it you approve what only a person may, on the pages and with loci approve.

    No client and no tool server should know it. Loci stores a slow hash. To change a PIN takes the old one.
    """
    check_person()
    if print_hash:
        typer.echo(pin_hash(_new()))
        return
    pins = _pins(data, config)
    old = asked_pin("Old PIN") if pins.is_set else None
    if old is not None:
        pins.check(old)
    pins.set(_new(), old)
    typer.echo("Your PIN is set.")


def _pins(data: Path | None, config: Path | None) -> Pins:
    app = open_app(data, config)
    return pins_of(app.settings, app.records)


def check_person() -> None:
    """Raise `Refused` in a program that a tool server started: no person is there."""
    if INSIDE in os.environ:
        what = "A tool server of Loci started this command, and only a person may use it"
        raise Refused(what, "Run it in a terminal of your own", code="NOT_A_PERSON")


def prove_person(stack: str | None, data: Path | None, config: Path | None, *, needs_pin: bool = False) -> None:
    """Have a person at a terminal, and their PIN if they have one, before something is given that only they may have.

    `needs_pin`: they must have one. Who may reach a deployment's stack has its account.
    """
    check_person()
    if stack is not None:
        return
    pins = _pins(data, config)
    if pins.is_set:
        pins.check(asked_pin())
    elif needs_pin:
        raise no_pin()
    else:
        check_terminal()


def check_terminal() -> None:
    """Raise `Refused` where nobody can type."""
    if not sys.stdin.isatty():
        what = "This command wants a person at a terminal, and has none"
        raise Refused(what, "Run it in a terminal of your own, or use the page /ui/runs", code="NO_TERMINAL")


def asked_pin(prompt: str = "PIN") -> str:
    """The PIN that somebody types at the terminal."""
    check_terminal()
    return typer.prompt(prompt, hide_input=True, err=True)


def _new() -> str:
    new = asked_pin("New PIN (at least 6 characters)")
    check_new(new)
    if asked_pin("The same again") != new:
        raise Refused("The two are not the same", "Try again", code="BAD_PIN")
    return new
