"""The command `loci`."""

from loci.cli.main import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
