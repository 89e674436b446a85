"""Whether what documents mention is here."""

from loci.core.finding import Finding, counted, some
from loci.core.identity import Owner
from loci.documents.api import DocumentsHost


def check_links(app: DocumentsHost, owner: Owner) -> Finding | None:
    """How many links there are, and which lead nowhere yet."""
    graph = app.documents.graphs.of(owner)
    links = sum(map(len, graph.outgoing.values()))
    broken = [one for some_open in graph.open.values() for one in some_open]
    if not links and not broken:
        return None
    if not broken:
        return Finding("links", "ok", counted(links, "link"))
    where = [f"{graph.documents[one.source].path}:{one.mention.line} ({one.mention.target})" for one in broken]
    nowhere = "leads" if len(broken) == 1 else "lead"
    return Finding(
        "links",
        "warning",
        f"{counted(len(broken), 'link')} of {links + len(broken):,} {nowhere} nowhere yet: {some(where)}",
        "Write what is missing, or correct them; they resolve by themselves when their targets come",
    )
