"""What was sent to a Loci elsewhere, and how it is told."""

from dataclasses import asdict, dataclass, field

from loci.cli.progress import listed
from loci.documents.document import FileFailure


@dataclass(slots=True)
class SyncSummary:
    """What was done so far: `sent + unchanged + failed + left` are all that were seen."""

    seen: int = 0
    sent: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: list[FileFailure] = field(default_factory=list[FileFailure])
    not_removed: list[FileFailure] = field(default_factory=list[FileFailure])
    skipped: list[FileFailure] = field(default_factory=list[FileFailure])

    @property
    def left(self) -> int:
        """How many were not come to."""
        return self.seen - self.sent - self.unchanged - len(self.failed)


def view(fed: SyncSummary) -> dict[str, object]:
    """It for programs: counts first, then the lists behind them."""
    return {
        "seen": fed.seen,
        "sent": fed.sent,
        "unchanged": fed.unchanged,
        "failed": len(fed.failed),
        "left": fed.left,
        "removed": fed.removed,
        "failures": [asdict(one) for one in fed.failed],
        "not_removed": [asdict(one) for one in fed.not_removed],
        "skipped": [asdict(one) for one in fed.skipped],
    }


def text(fed: SyncSummary) -> str:
    """It for people."""
    counts = f"{fed.seen:,} seen: {fed.sent:,} sent, {fed.unchanged:,} unchanged, {len(fed.failed):,} failed"
    lines = [f"{counts}{f', {fed.left:,} left for the next time' if fed.left else ''}. {fed.removed:,} removed."]
    lines += listed("Failed", [f"{one.path}: {one.reason}" for one in fed.failed])
    lines += listed("Not removed", [f"{one.path}: {one.reason}" for one in fed.not_removed])
    lines += listed("Left out", [f"{one.path}: {one.reason}" for one in fed.skipped])
    return "\n".join(lines)
