"""Text on a terminal."""


def printable(text: str) -> str:
    """A name or a document may hold anything: no part of it reaches the terminal as a command."""
    return "".join(one if one.isprintable() or one == "\t" else ascii(one)[1:-1] for one in text)
