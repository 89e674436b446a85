"""What a run shows beside its output: the value of the last expression, and figures."""

import contextlib
import io
import sys
from typing import Any

LONGEST_VALUE = 20_000
MOST_FIGURES = 10
LARGEST_FIGURE = 3 << 20
ROWS, COLUMNS, WIDTH = 30, 30, 160


def show_widely() -> None:
    """Tables come as wide as a model can read, not as a terminal is."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None:
        for name, value in {"width": WIDTH, "max_columns": COLUMNS, "max_rows": ROWS, "min_rows": ROWS}.items():
            pandas.set_option(f"display.{name}", value)


def described(value: object) -> dict[str, str] | None:
    """The value's type and its text, as an interactive Python shows it; nothing for None."""
    if value is None:
        return None
    text = repr(value)
    if len(text) > LONGEST_VALUE:
        text = f"{text[:LONGEST_VALUE]}… ({len(text):,} characters)"
    return {"type": type(value).__name__, "text": text}


def prepare_figures() -> None:
    """`plt.show()` is no error: what is open at the end of a run is shown."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.show = _show


def _show(*_: object, **__: object) -> None:
    """In matplotlib's place."""


def figures() -> list[bytes]:
    """The open figures as PNG, which are closed with that."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    drawn: list[bytes] = []
    for number in pyplot.get_fignums()[:MOST_FIGURES]:
        image = io.BytesIO()
        # A figure that cannot be drawn is missing; the run is none the worse.
        with contextlib.suppress(Exception):
            pyplot.figure(number).savefig(image, format="png", dpi=100, bbox_inches="tight")
            if image.tell() <= LARGEST_FIGURE:
                drawn.append(image.getvalue())
    pyplot.close("all")
    return drawn
