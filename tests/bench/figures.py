"""What was measured, against what it may cost."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median, quantiles
from typing import Literal

MOST_ADDED = 0.001
Verdict = Literal["ok", "BROKEN", "no budget"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table."""

    name: str
    budget: str
    measured: str
    verdict: Verdict
    bare: str = ""
    loci: str = ""
    numbers: Mapping[str, object] = field(default_factory=dict[str, object])


def verdict(*, kept: bool) -> Verdict:
    return "ok" if kept else "BROKEN"


def ratio_figure(name: str, bare: Sequence[float], loci: Sequence[float], most: float | None) -> Figure:
    """CPU seconds of both in the same rounds; the median of the rounds' ratios counts."""
    ratio = median(one / other for one, other in zip(loci, bare, strict=True))
    least = min(loci) / min(bare)
    return Figure(
        name,
        budget="" if most is None else f"<= {most:.2f} x",
        measured=f"{ratio:.2f} x (best rounds {least:.2f} x)",
        verdict="no budget" if most is None else verdict(kept=ratio <= most),
        bare=milliseconds(median(bare)),
        loci=milliseconds(median(loci)),
        numbers={"ratio": ratio, "ratio_of_best": least, "bare_seconds": [*bare], "loci_seconds": [*loci]},
    )


def medians_figure(name: str, bare: Sequence[float], loci: Sequence[float], most: float | None) -> Figure:
    """The medians of both, which need not have as many rounds."""
    ratio = median(loci) / median(bare)
    return Figure(
        name,
        budget="" if most is None else f"<= {most:.2f} x",
        measured=f"{ratio:.2f} x",
        verdict="no budget" if most is None else verdict(kept=ratio <= most),
        bare=milliseconds(median(bare)),
        loci=milliseconds(median(loci)),
        numbers={"ratio": ratio, "bare_seconds": [*bare], "loci_seconds": [*loci]},
    )


def added_figure(name: str, bare: float, loci: float) -> Figure:
    """What Loci adds to the time of a call."""
    return Figure(
        name,
        budget="<= 1.00 ms more",
        measured=f"{(loci - bare) * 1000:+.2f} ms",
        verdict=verdict(kept=loci - bare <= MOST_ADDED),
        bare=milliseconds(bare),
        loci=milliseconds(loci),
        numbers={"bare_seconds": bare, "loci_seconds": loci},
    )


def time_figure(
    name: str,
    floor: Sequence[float],
    loci: Sequence[float],
    most: float | None = None,
    most_p95: float | None = None,
    most_ratio: float | None = None,
) -> Figure:
    """Seconds of one call: the median and the 95th of a hundred, beside those of what cannot be left out.

    With `most_ratio` the ratio to that floor decides: the time depends on how fast the machine is.
    """
    middle, slow = median(loci), p95(loci)
    ratio = middle / median(floor)
    budgets = [
        *([] if most is None else [f"<= {most * 1000:g} ms"]),
        *([] if most_p95 is None else [f"p95 {most_p95 * 1000:.0f} ms"]),
        *([] if most_ratio is None else [f"{most_ratio:.3g} x"]),
    ]
    kept = (most is None or middle <= most) and (most_p95 is None or slow <= most_p95)
    if most_ratio is not None:
        kept = ratio <= most_ratio
    return Figure(
        name,
        budget=", ".join(budgets),
        measured=f"p95 {milliseconds(slow)}, {ratio:.{1 if most_ratio is None else 3}f} x the floor",
        verdict=verdict(kept=kept) if budgets else "no budget",
        bare=f"{milliseconds(median(floor))}, p95 {milliseconds(p95(floor))}",
        loci=milliseconds(middle),
        numbers={"floor_seconds": [*floor], "loci_seconds": [*loci]},
    )


def tail_figure(name: str, seconds: Sequence[float], most: float) -> Figure:
    """The 99th percentile beside the median."""
    middle, tail = median(seconds), quantiles(seconds, n=100)[98]
    return Figure(
        f"{name}: p99 beside p50",
        budget=f"<= {most:.1f} x",
        measured=f"{tail / middle:.1f} x",
        verdict=verdict(kept=tail <= most * middle),
        bare=milliseconds(middle),
        loci=milliseconds(tail),
        numbers={"ratio": tail / middle, "seconds": [*seconds]},
    )


def growth_figure(name: str, few: int, many: int, most: float = 1.2) -> Figure:
    """Resident KiB after few calls and after many."""
    return Figure(
        name,
        budget=f"<= {most:.1f} x",
        measured=f"{many / few:.2f} x",
        verdict=verdict(kept=many <= most * few),
        loci=f"{many / 1024:.0f} MiB",
        numbers={"kib": [few, many]},
    )


def p95(seconds: Sequence[float]) -> float:
    return quantiles(seconds, n=20)[-1]


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.1 else f"{seconds * 1000:.2f} ms"


def table(figures: Sequence[Figure]) -> str:
    """The figures, in columns."""
    rows = [["figure", "budget", "beside", "Loci", "measured", "verdict"]]
    rows += [[one.name, one.budget, one.bare, one.loci, one.measured, one.verdict] for one in figures]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def as_json(figures: Sequence[Figure]) -> list[dict[str, object]]:
    return [asdict(one) for one in figures]
