"""The files that runs of an executor read and wrote: they tell where a file that code made comes from."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import cast

from loci.code.ports import StoredFiles
from loci.code.python_run import Made, Stored
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, iso
from loci.core.stores import Record, RecordStore, every

KIND = "executor-run"
LONGEST_CODE = 20_000
"""Characters of a run's code that are kept. Its hash is that of all of it."""
MOST_INPUTS = 100


@dataclass(frozen=True, slots=True)
class NotedFiles:
    """Stored files, and a note of each that was read."""

    files: StoredFiles
    read_ones: dict[str, JsonObject] = field(default_factory=dict[str, JsonObject])

    def read(self, owner: Owner, id: str) -> Stored:
        """Read the file, and note its version."""
        stored = self.files.read(owner, id)
        self.read_ones[f"{id}/{stored.version}"] = {
            "id": id,
            "name": stored.name,
            "version": stored.number,
            "sha256": stored.version,
        }
        return stored


@dataclass(frozen=True, slots=True)
class RunHistory:
    """Keeps a record of each run that read stored files or wrote files, as long as its executor lives."""

    records: RecordStore

    def note(
        self,
        owner: Owner,
        id: str,
        code: str,
        read: Iterable[JsonObject],
        made: Iterable[Made],
        *,
        at: float,
        until: float,
    ) -> None:
        """Note the run, if there is anything to tell of it."""
        inputs: list[Json] = [*islice(read, MOST_INPUTS)]
        files: list[Json] = [one.name for one in made]
        if not inputs and not files:
            return
        value: JsonObject = {
            "code": code[:LONGEST_CODE],
            "code_sha256": hashlib.sha256(code.encode("utf-8", "replace")).hexdigest(),
            "made_at": iso(at),
            "inputs": inputs,
            "files": files,
        }
        self.records.put(owner, KIND, f"{id}/{at:017.4f}", value, expires_at=until, durable=False)

    def lineage(self, owner: Owner, id: str, file: str) -> JsonObject:
        """The origin of the file: the code of the run that wrote it last, and the stored files read until then.

        Variables stay from run to run, so a run may use what an earlier one has read.
        """
        inputs: dict[str, Json] = {}
        found: JsonObject = {"code": None, "code_sha256": None, "made_at": None}
        inputs_then: list[Json] = []
        for record in every(self.records, owner, KIND, prefix=f"{id}/"):
            inputs |= _inputs(record)
            if file in cast("list[str]", record.value.get("files") or []):
                found = {name: record.value.get(name) for name in found}
                inputs_then = [*inputs.values()]
        return {"executor_id": id, "file": file, **found, "inputs": inputs_then or [*inputs.values()]}


def _inputs(record: Record) -> dict[str, Json]:
    held = cast("list[JsonObject]", record.value.get("inputs") or [])
    return {f"{one['id']}/{one['sha256']}": one for one in held}
