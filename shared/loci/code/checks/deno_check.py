"""What runs callers' TypeScript."""

from loci.code.deno_program import found, version
from loci.core.errors import LociError
from loci.core.finding import Finding
from loci.core.settings import Settings


def check_deno(settings: Settings) -> list[Finding]:
    """Whether Deno is here and new enough; without it all other tools work. One that was named has to be."""
    try:
        deno = found(settings.deno)
    except LociError as error:
        return [Finding("deno", "warning" if settings.deno is None else "fault", error.what, error.resolution)]
    return [Finding("deno", "ok", f"{'.'.join(map(str, version(deno)))}, {deno}")]
