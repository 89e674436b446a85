"""The command `loci`."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command. Hooks have a way of their own: clients wait for them at each prompt."""
    if sys.argv[1:2] == ["hook"]:
        from loci.hook import EVENTS, run  # no other command needs it

        if sys.argv[2:3] and sys.argv[2] in EVENTS and not {"-h", "--help"} & {*sys.argv}:
            run(sys.argv[2:])
    from loci.cli.main import main as run_command  # hooks do without it

    run_command()


if __name__ == "__main__":
    main()
