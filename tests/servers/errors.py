"""Why there is no server. Each message says what to do; a stranger reads it on the command line or in a test report."""


class NotInstalled(Exception):
    """This machine lacks a program that the server needs."""


class NotStarted(Exception):
    """The server could not be assembled, or did not come up."""
