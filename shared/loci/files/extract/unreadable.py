"""Why a file cannot be read, and how much of one is."""

from dataclasses import dataclass


class Unreadable(Exception):
    """The file cannot be read; the text says why, and `advice` what to do."""

    def __init__(self, what: str, advice: str, code: str = "FILE_UNREADABLE") -> None:
        super().__init__(what)
        self.advice = advice
        self.code = code


def too_large(what: str) -> Unreadable:
    """The refusal of a file that would take more room than a file may take."""
    return Unreadable(what, "Split it into smaller files", "FILE_TOO_LARGE")


@dataclass(frozen=True)
class Limits:
    """How much of one file is read."""

    pages: int = 2_000
    rows: int = 200_000
    """Of all sheets."""
    cells: int = 4_000_000
    unpacked_bytes: int = 512 << 20
    """Of a packed file, such as a workbook."""
    sheets: int = 1_000
    on_aws: int = 0
    """1: nobody can install tesseract where the file is read."""
    told: str | None = None
    """The file that says how many pages are read."""

    def tell(self, page: int, pages: int) -> None:
        """Say that this page is read."""
        if self.told is not None:
            with open(self.told, "w", encoding="ascii") as opened:  # noqa: PTH123
                opened.write(f"{page} {pages}")
