"""An image of a Python function."""

import os


def main(event: object, _: object) -> object:
    return {"event": event, "color": os.environ["COLOR"]}
