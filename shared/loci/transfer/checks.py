"""`loci doctor`: pieces of what another Loci began to send, and never finished."""

from typing import Final

from loci.core.finding import Finding, counted, of_owners, run_check, size_shown
from loci.core.identity import Owner
from loci.core.layout import LEFT_DAYS
from loci.transfer.host import TransferHost
from loci.transfer.staging import BUSY_SECONDS, Staging

ARRIVING: Final = "arriving"


def check_arriving(app: TransferHost, *, fix: bool) -> list[Finding]:
    """Check what is on its way to the person at this machine, and to every owner with an API key."""
    return of_owners(
        ARRIVING, app.api_keys.owners, lambda owner: run_check(ARRIVING, lambda: _check_owner(app, owner, fix=fix))
    )


def _check_owner(app: TransferHost, owner: Owner, *, fix: bool) -> Finding | None:
    """Report what nobody finished. The fix removes it."""
    staging = Staging(app.arriving)
    left = staging.left(owner, BUSY_SECONDS)
    if not left:
        return None
    began = staging.age(min(one.came for one in left))
    what = (
        f"{counted(len({one.sha256 for one in left}), 'content')} of an import never arrived whole:"
        f" {counted(len(left), 'piece')}, {size_shown(sum(one.bytes for one in left))}, begun {_shown(began)} ago"
    )
    if not fix:
        advice = (
            "Run the same loci import or loci export again: it goes on. Otherwise the pieces are removed"
            f" {LEFT_DAYS} days after they came, or now, by: loci doctor --fix"
        )
        return Finding(ARRIVING, "warning", what, advice)
    staging.drop_left(owner, BUSY_SECONDS)
    return Finding(ARRIVING, "ok", f"{what}; removed", fixed=True)


def _shown(seconds: float) -> str:
    hours = int(seconds // 3600)
    return counted(hours // 24, "day") if hours >= 48 else counted(hours, "hour")
