"""`Where` as SQL."""

from collections.abc import Sequence
from dataclasses import dataclass

from loci.search.ranking import Where


@dataclass(frozen=True, slots=True)
class DocumentCondition:
    """A SELECT of the numbers of documents."""

    sql: str
    values: tuple[str | int, ...]


def documents_of(scope: int, where: Where) -> DocumentCondition | None:
    """Those of the scope that fit; None where no condition is set."""
    clauses: list[tuple[str, tuple[str | int, ...]]] = []
    tagged = "SELECT document FROM tag WHERE scope = ? AND tag"
    if where.any_tags:
        clauses.append((f"number IN ({tagged} IN ({marks(where.any_tags)}))", (scope, *where.any_tags)))
    clauses.extend((f"number IN ({tagged} = ?)", (scope, tag)) for tag in where.all_tags)
    if where.no_tags:
        clauses.append((f"number NOT IN ({tagged} IN ({marks(where.no_tags)}))", (scope, *where.no_tags)))
    if where.since is not None:
        clauses.append(("date >= ?", (where.since,)))
    if where.until is not None:
        clauses.append(("date <= ?", (where.until,)))
    if not clauses:
        return None
    conditions = " AND ".join(["scope = ?", *(sql for sql, _ in clauses)])
    return DocumentCondition(
        f"SELECT number FROM document WHERE {conditions}",  # noqa: S608 (nothing but what stands above)
        (scope, *(value for _, values in clauses for value in values)),
    )


def marks(values: Sequence[object]) -> str:
    """A question mark for each value."""
    return ",".join("?" * len(values))
