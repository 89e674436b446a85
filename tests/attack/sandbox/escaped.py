"""What an attack that worked is told by, and by nothing else."""


class Escaped(AssertionError):
    """The attack got at what it wanted."""
