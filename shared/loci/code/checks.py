"""The checks of `loci doctor` on what this machine needs to run code."""

from collections.abc import Iterator

from loci.code.packages import deno_version, find_deno, state
from loci.core.diagnosis import Finding, run_check
from loci.core.errors import LociError
from loci.core.settings import Settings
from loci.sandbox.supervisor.control_groups import FILES, find_group_parent
from loci.sandbox.wall.layers import Unsafe, offered, strongest


def check_machine(settings: Settings) -> Iterator[Finding]:
    """Check the wall, the Python runner's packages, and Deno. Each finding comes as soon as it is known."""
    yield from run_check("sandbox", lambda: _check_wall(settings))
    yield from run_check("cgroup", _check_groups)
    yield from run_check("runner", lambda: _check_packages(settings))
    yield _check_deno(settings)


def _check_wall(settings: Settings) -> Finding:
    name = "sandbox"
    found = offered()
    layers = strongest(found)
    if isinstance(layers, Unsafe):
        if settings.allow_unsandboxed:
            what = f"Code runs without a wall, because a setting allows it: {layers.missing}"
            return Finding(name, "warning", what, "Unset LOCI_ALLOW_UNSANDBOXED unless you trust all code that runs")
        return Finding(name, "warning", f"No code can run: {layers.missing}", layers.advice)
    missing = "".join(f"; not here: {layer.value} ({why})" for layer, why in found.refused)
    return Finding(name, "ok", f"{', '.join(sorted(layers))} ({found.system}){missing}")


def _check_groups() -> Finding:
    """The wall does without them, so none is no fault. A server that was started otherwise may have another answer."""
    place = find_group_parent()
    if isinstance(place, str):
        return Finding("cgroup", "ok", f"No limits of cgroups for what is started as this command was: {place}")
    missing = "".join(f"; not here: {file}" for name, file in FILES.items() if name not in place.controllers)
    return Finding("cgroup", "ok", f"{', '.join(place.limits)} for each process behind the wall{missing}")


def _check_packages(settings: Settings) -> Finding:
    folder = settings.runner_folder
    match state(folder):
        case "ready":
            return Finding("runner", "ok", f"{folder}, with the packages of the lock")
        case "outdated":
            what = f"The packages in {folder} are not those of the lock"
            return Finding("runner", "warning", what, "Run: loci runner install")
        case "absent":
            what = f"run_memory_code has no packages: there are none in {folder}"
            return Finding("runner", "warning", what, "Run: loci runner install")


def _check_deno(settings: Settings) -> Finding:
    """Check Deno. Without it all other tools work, so a missing Deno is a fault only if a setting names it."""
    try:
        deno = find_deno(settings.deno)
        version = deno_version(deno)
    except LociError as error:
        return Finding("deno", "warning" if settings.deno is None else "fault", error.what, error.resolution)
    return Finding("deno", "ok", f"{'.'.join(map(str, version))}, {deno}")
