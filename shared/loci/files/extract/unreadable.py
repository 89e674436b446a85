"""Why a file cannot be read, and how much of one is."""

from dataclasses import dataclass


class UnreadableFile(Exception):
    """The file cannot be read; the text says why, and `advice` what to do."""

    def __init__(self, what: str, advice: str, code: str = "FILE_UNREADABLE") -> None:
        super().__init__(what)
        self.advice = advice
        self.code = code


def too_large(what: str) -> UnreadableFile:
    """The refusal of a file that would take more room than a file may take."""
    return UnreadableFile(what, "Split it into smaller files", "FILE_TOO_LARGE")


@dataclass(frozen=True)
class ReadingLimits:
    """Limits for the reading of a file."""

    pages: int = 2_000
    rows: int = 200_000
    """The most rows of all sheets together."""
    cells: int = 4_000_000
    unpacked_bytes: int = 512 << 20
    """The most unpacked bytes of a packed file, such as a workbook."""
    sheets: int = 1_000
    progress_file: str | None = None
    """The file that says how many pages are read."""

    def report_page(self, page: int, pages: int) -> None:
        """Say that this page is read."""
        if self.progress_file is not None:
            with open(self.progress_file, "w", encoding="ascii") as opened:  # noqa: PTH123
                opened.write(f"{page} {pages}")
