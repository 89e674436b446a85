"""Whether callers' code can be run here, and behind what."""

from loci.code.packages import state
from loci.core.finding import Finding
from loci.core.settings import Settings
from loci.sandbox.wall.probe import Unsafe, offered, strongest


def check_sandbox(settings: Settings) -> Finding:
    """The layers of the wall."""
    name = "sandbox"
    found = offered()
    layers = strongest(found)
    if isinstance(layers, Unsafe):
        if settings.allow_unsandboxed:
            what = f"Code runs without a wall, as it was set: {layers.missing}"
            return Finding(name, "warning", what, "Unset LOCI_ALLOW_UNSANDBOXED unless you trust all code that is run")
        return Finding(name, "warning", f"No code is run: {layers.missing}", layers.advice)
    missing = "".join(f"; not here: {layer.value} ({why})" for layer, why in found.refused)
    return Finding(name, "ok", f"{', '.join(sorted(layers))} ({found.system}){missing}")


def check_runner(settings: Settings) -> Finding:
    """Its packages."""
    folder = settings.runner_folder
    match state(folder):
        case "ready":
            return Finding("runner", "ok", f"{folder}, with the packages of the lock")
        case "outdated":
            return Finding("runner", "warning", f"{folder} has other packages", "Run: loci runner install")
        case "absent":
            what = f"run_memory_code has no packages (none in {folder})"
            return Finding("runner", "warning", what, "Run: loci runner install")
