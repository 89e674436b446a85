"""The kinds of items besides documents, and the lists of record kinds that an archive has and does not have."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, cast

from loci.core.errors import LociError, Refused, Unavailable
from loci.core.identity import Owner
from loci.core.json import Json, JsonObject, shape_fault, string
from loci.core.stores import ABSENT, Record
from loci.files.file import RULES, FileVersion, StoredFile, checked_path, file_id, name_of, version_of
from loci.files.lake import content_key
from loci.scratchpad.api import CAPACITY, ID, Scratchpad
from loci.transfer.items import (
    DAMAGED,
    DEEPEST,
    SAME,
    TAKEN,
    Item,
    Kind,
    Loaded,
    Outcome,
    Receiver,
    UnreadableItem,
    checked_hash,
    parsed,
)

if TYPE_CHECKING:
    from loci.files.api import Files
    from loci.gateway.api import Tools
    from loci.gateway.capabilities.capability import Capability
    from loci.gateway.capabilities.capability_store import StoredCode
    from loci.workflows.api import Workflows
    from loci.workflows.run import Decision, Run


TRAVELS: Final = {
    "documents": ("document",),
    "deleted": ("deleted",),
    "files": ("file", "file_version"),
    "capabilities": ("capability", "capability_code"),
    "servers": ("tool_server",),
    "runs": ("workflow", "workflow_value"),
    "results": ("scratchpad",),
}
"""The kinds of records in each kind of item. Blobs go with the record that names them."""

STAYS: Final = {
    "places on one machine": ("root", "ingested_folder", "forgotten", "refused"),
    "secrets, keys, logins and what they allow": (
        *("api_key", "tool_secret", "tool_login", "pin", "pin_tries", "ended_visit", "ended_session"),
        *("oauth_client", "oauth_client_document", "oauth_code", "oauth_grant", "oauth_grant_id"),
        *("oauth_registrations", "oauth_remembered"),
    ),
    "what runs, waits or is locked": (
        *("approval", "errand", "executor", "executor-machine", "executor-run", "ingesting", "run"),
        *("scratchpad-promised", "turn", "unfinished", "workflow_owner", "workflow_slot", "workflow_waiting"),
    ),
    "what is made again from the rest, or counted": (
        *("capability_vectors", "embedded", "events", "events_count", "events_wanted", "file_state", "index_fill"),
        *("key_calls", "language_tokens", "linked", "listed_tools", "notice_sent", "read", "said", "seen_shape"),
        *("text", "tool_calls", "tool_followers", "tool_trail", "tool_vectors"),
    ),
}
"""The kinds of records that no archive has, by the reason. An archive with a kind that `TRAVELS` lacks is refused."""


class ResultKind(Kind):
    """Results of tools in the scratchpad. Images and other files are not exported."""

    name = "results"
    largest = CAPACITY

    def __init__(self, scratchpad: Scratchpad) -> None:
        self._scratchpad = scratchpad

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | UnreadableItem]:
        for one in sorted(self._scratchpad.list(owner), key=lambda one: one.id):
            if not one.media_type and (after is None or one.id > after):
                item = Item(self.name, one.id, {"tool": one.tool, "about": one.about}, {f"results/{one.id}": ""})
                yield Loaded(item, partial(self._read, owner, one.id))

    def label(self, item: Item) -> str:
        return f"{item.key} of {item.value['tool']}"

    def check(self, item: Item) -> None:
        string(item.value["tool"])
        string(item.value["about"])
        if [*item.blobs] != [f"results/{item.key}"] or not ID.fullmatch(item.key):
            raise ValueError(item.key)

    def preview(self, to: Receiver, item: Item) -> Outcome:
        try:
            here = self._read(to.owner, item.key, "")
        except LociError:
            return TAKEN
        is_same = sha256(here).hexdigest() == item.blobs[f"results/{item.key}"]
        return SAME if is_same else Outcome("conflict", f"the result {item.key} is here with another text")

    def put(self, to: Receiver, one: Loaded) -> None:
        tool, about = string(one.item.value["tool"]), string(one.item.value["about"])
        text = one.only_blob.decode("utf-8", "replace")
        self._scratchpad.keep(to.owner, tool, text, one.item.key, about=about)

    def _read(self, owner: Owner, id: str, _: str) -> bytes:
        return self._scratchpad.read(owner, id).text.encode("utf-8", "replace")


UNREAD: Final = ("pending", "running")


class FileKind(Kind):
    """All files of an owner, version by version. An import reads them again."""

    name = "files"

    def __init__(self, files: "Callable[[], Files]", largest: int) -> None:
        self._files = files
        self.largest = largest

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | UnreadableItem]:
        lake = self._files().parts.lake
        histories = lake.histories(owner)
        for file in lake.files(owner):
            kept = _kept(file, histories.get(file.id, ()))
            chain: list[Json] = [[one.number, one.sha256] for one in kept]
            for one in kept:
                key = f"{file.id}/{one.number:06}"
                if after is None or key > after:
                    path: JsonObject = {} if file.path is None else {"path": file.path}
                    value: JsonObject = {**one.as_json(), "name": file.name, **path, "versions": chain}
                    item = Item(self.name, key, value, {content_key(file.id, one.sha256): ""})
                    yield Loaded(item, partial(self._content, owner, file.id, one))

    def _content(self, owner: Owner, id: str, version: FileVersion, _: str) -> bytes:
        return self._files().parts.lake.content(owner, id, version)

    def label(self, item: Item) -> str:
        return f"{item.value.get('path') or item.value['name']} v{item.value['number']}"

    def check(self, item: Item) -> None:
        file, version = _named(item), _version(item)
        [(blob, sha256)] = item.blobs.items()
        is_named = checked_path(file.full_path) == file.full_path and name_of(file.full_path) == file.name
        is_named &= file.id in (file_id(file.full_path), file_id(file.name))
        is_named &= item.key == f"{file.id}/{version.number:06}"
        is_own = blob == content_key(file.id, version.sha256) and sha256 == version.sha256
        if not is_named or not is_own or _chain(item).get(version.number) != version.sha256:
            raise ValueError("this is not a version of it")

    def preview(self, to: Receiver, item: Item) -> Outcome:
        lake, version, told = self._files().parts.lake, _version(item), _named(item)
        file = lake.known(to.owner, [told.id]).get(told.id)
        if file is None:
            return TAKEN
        here = {one.number: one.sha256 for one in _kept(file, lake.history(to.owner, file.id))}
        chain = _chain(item)
        both = here.keys() & chain.keys()
        if not both or any(here[one] != chain[one] for one in both):
            return Outcome("conflict", f"{told.full_path} is here with other contents")
        is_unread = version.number == file.newest.number and file.newest.status in UNREAD
        if version.number > file.newest.number or is_unread:
            return TAKEN
        if version.number in here:
            return SAME
        return Outcome("left out", "a newer version is here, and none can be put before it")

    def put(self, to: Receiver, one: Loaded) -> None:
        known, files = _version(one.item), self._files()
        version = FileVersion(known.number, known.sha256, known.bytes, known.added_at, lineage=known.lineage)
        file = files.restore(to.owner, replace(_named(one.item), newest=version), one.only_blob)
        if known.summary_by != RULES and file.current and file.current.number == known.number:
            files.summarize(to.owner, file.id, known.number, known.summary, known.summary_by)


def _kept(file: StoredFile, history: Sequence[FileVersion]) -> list[FileVersion]:
    """All versions with stored contents, oldest first."""
    own = (*history, *([file.current] if file.current else []), file.newest)
    return [one for _, one in sorted({one.number: one for one in own}.items())]


def _named(item: Item) -> StoredFile:
    """The file with this version alone. An older archive has no path, and the file gets none."""
    path = None if (told := item.value.get("path")) is None else string(told)
    id = item.key.rpartition("/")[0]
    return StoredFile(id, string(item.value["name"]), _version(item), None, ABSENT, path=path)


def _version(item: Item) -> FileVersion:
    """The version, after checks of all fields that are imported. The other fields come from reading its content."""
    version = version_of(item.value)
    for text in (version.added_at, version.summary, version.summary_by):
        string(text)
    if version.number < 1 or not isinstance(cast("object", version.lineage), dict | None):
        raise ValueError(version.number)
    return version


def _chain(item: Item) -> dict[int, str]:
    told = cast("list[tuple[int, str]]", item.value["versions"])
    return {int(number): checked_hash(sha256) for number, sha256 in told}


IN_ARCHIVES: Final = frozenset({"code", "needs", "inputs"})


class CapabilityKind(Kind):
    """Code that worked, with its record. An import merges it with the code for the same intent."""

    name = "capabilities"
    largest = 0

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | UnreadableItem]:
        capabilities = self._tools().capabilities
        for one in capabilities.all(owner):
            if after is None or one.id > after:
                codes: dict[str, Json] = {
                    identity: {name: value for name, value in code.as_json().items() if name in IN_ARCHIVES}
                    for identity, code in capabilities.codes(owner, one).items()
                }
                yield Loaded(Item(self.name, one.id, {**one.as_json(), "codes": codes}), _no_blob)

    def label(self, item: Item) -> str:
        return f"{item.key}: {item.value['intent']}"

    def check(self, item: Item) -> None:
        _capability(item, {})

    def preview(self, to: Receiver, item: Item) -> Outcome:
        from loci.gateway.capabilities.capability import capability_id
        from loci.gateway.capabilities.capability_store import merge_capabilities
        from loci.gateway.capabilities.code_text import LARGEST_CODE, has_secret

        known = next((one for one in self._tools().capabilities.all(to.owner) if one.id == item.key), None)
        wanted, codes = _capability(item, self._codes_here(to, known))
        if wanted.id != capability_id(wanted.intent):
            return Outcome("left out", "its id does not match its intent")
        for one in wanted.versions:
            code = codes[one.identity].code if one.identity in codes else ""
            if not code or len(code) > LARGEST_CODE or has_secret(code):
                return Outcome("left out", "its code is missing, too long, or has a secret")
        return SAME if known is not None and merge_capabilities(known, wanted, 0.0) == known else TAKEN

    def put(self, to: Receiver, one: Loaded) -> None:
        known = next((here for here in self._tools().capabilities.all(to.owner) if here.id == one.item.key), None)
        self._tools().capabilities.restore(to.owner, *_capability(one.item, self._codes_here(to, known)))

    def _codes_here(self, to: Receiver, known: "Capability | None") -> "dict[str, StoredCode]":
        return {} if known is None else self._tools().capabilities.codes(to.owner, known)


class ServerKind(Kind):
    """The entry of each tool server, with every secret replaced by its name."""

    name = "servers"
    largest = 0

    def __init__(self, tools: "Callable[[], Tools]") -> None:
        self._tools = tools

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | UnreadableItem]:
        for name, one in sorted(self._tools().portable(owner).items()):
            if after is None or name > after:
                value: JsonObject = {"entry": one.entry, "secrets": [*one.secrets]}
                yield Loaded(Item(self.name, name, value), _no_blob)

    def label(self, item: Item) -> str:
        needs = ", ".join(cast("list[str]", item.value["secrets"]))
        return f"{item.key} (needs {needs}: loci tools secret)" if needs else item.key

    def check(self, item: Item) -> None:
        from loci.gateway.configuration import checked_entry, checked_name

        checked_entry(checked_name(item.key), item.value["entry"])
        [string(one) for one in cast("list[Json]", item.value["secrets"])]

    def preview(self, to: Receiver, item: Item) -> Outcome:
        from loci.gateway.configuration import checked_entry, is_outside

        tools, name, entry = self._tools(), item.key, cast("Mapping[str, Any]", item.value["entry"])
        here = tools.portable(to.owner).get(name)
        if here is not None and here.entry != entry:
            return Outcome("conflict", f"the tool server {name} is here with another entry")
        if here is not None and not (here.is_restricted and to.programs):
            return SAME
        to_take_it = "To take it, import it on the machine itself" if to.from_afar else "To take it: --programs"
        if entry.get("command") and not to.programs:
            shown = " ".join([str(entry["command"]), *map(str, entry.get("args") or ())])
            return Outcome("left out", f"it starts a program of this machine ({shown[:200]}). {to_take_it}")
        try:
            tools.check_place(name, entry)
            if to.from_afar and not is_outside(checked_entry(name, entry)):
                return Outcome("left out", f"its address is not a public https address. {to_take_it}")
            known = () if to.programs else tools.filled_here(to.owner, name, entry)
        except LociError as error:
            return Outcome("left out", error.what)
        if known:
            where = str(entry.get("url")).partition("?")[0]
            return Outcome(
                "left out", f"it would send the {', '.join(known)} of this machine to {where[:200]}. {to_take_it}"
            )
        return TAKEN

    def put(self, to: Receiver, one: Loaded) -> None:
        name, entry = one.item.key, one.item.value["entry"]
        self._tools().restore(to.owner, name, entry, no_variables=not to.programs, only_public=to.from_afar)


def _no_blob(name: str) -> bytes:
    raise KeyError(name)


def _capability(item: Item, here: "Mapping[str, StoredCode]") -> "tuple[Capability, dict[str, StoredCode]]":
    """The capability, and its codes by their identities, whatever the archive says that these are.

    Code that is here keeps the identity that it has here: that may be of an older form.
    """
    from loci.gateway.capabilities.capability import capability_of
    from loci.gateway.capabilities.capability_store import StoredCode
    from loci.gateway.capabilities.code_text import identity_of
    from loci.gateway.capabilities.inputs import checked_inputs

    names, codes = dict[str, str](), dict[str, StoredCode]()
    for said, one in cast("dict[str, JsonObject]", item.value["codes"]).items():
        needs = tuple(map(string, cast("list[Json]", one["needs"])))
        code = StoredCode(item.key, string(one["code"]), needs, checked_inputs(one.get("inputs")))
        is_here = said in here and here[said].code == code.code
        names[said] = said if is_here else identity_of(code.code)
        codes[names[said]] = code
    told = capability_of(Record(item.key, item.value, ""))
    versions = {names.get(one.identity, ""): one for one in told.versions}
    return replace(told, versions=tuple(replace(one, identity=name) for name, one in versions.items())), codes


NO_WORKFLOWS: Final = "WORKFLOWS_UNAVAILABLE"
"""The code of the error of a deployment without workflows."""
LARGEST_RUN: Final = 64 << 20
MOST_VALUES: Final = 2_000_000
"""The most values in all results of a run, such as cells of tables. Reading them takes at most 300 MB of memory."""
MOST_DECISIONS: Final = 10_000
IMPORTED_MARK: Final = ", as an import says"


class RunKind(Kind):
    """Workflows that have ended, with the results of their tasks."""

    name = "runs"
    largest = LARGEST_RUN

    def __init__(self, workflows: "Callable[[], Workflows]") -> None:
        self._workflows = workflows

    def items(self, owner: Owner, after: str | None) -> Iterator[Loaded | UnreadableItem]:
        try:
            ended = self._workflows().ended(owner)
        except Unavailable as error:
            if error.code != NO_WORKFLOWS:
                raise
            return
        for id, run in sorted(ended.items()):
            if after is None or id > after:
                yield Loaded(
                    Item(self.name, id, {"status": run.status}, {f"runs/{id}": ""}), partial(self._read, owner, id)
                )

    def _read(self, owner: Owner, id: str, _: str) -> bytes:
        run = self._workflows().ended_run(owner, id)
        return written_run(run, self._workflows().values(owner, id, run))

    def label(self, item: Item) -> str:
        return item.key

    def check(self, item: Item) -> None:
        if [*item.blobs] != [f"runs/{item.key}"] or not item.key.startswith("wf_") or not item.key.isidentifier():
            raise ValueError(item.key)

    def preview(self, to: Receiver, item: Item) -> Outcome:
        try:
            return SAME if self._workflows().exists(to.owner, item.key) else TAKEN
        except Unavailable as error:
            if error.code != NO_WORKFLOWS:
                raise
            return Outcome("left out", error.what)

    def put(self, to: Receiver, one: Loaded) -> None:
        self._workflows().restore(to.owner, one.item.key, *read_run(one.item.key, one.only_blob))


def written_run(run: "Run", values: JsonObject) -> bytes:
    """The bytes of the run. Raises `Refused` if no Loci would import them."""
    told = {"run": run.model_dump(mode="json", exclude_defaults=True), "values": values}
    raw = json.dumps(told, ensure_ascii=False, sort_keys=True, indent=1).encode("utf-8", "replace")
    if len(raw) > LARGEST_RUN or shape_fault(raw, MOST_VALUES, DEEPEST):
        limits = f"more than {LARGEST_RUN >> 20} MB, {MOST_VALUES:,} values, or {DEEPEST} levels"
        what = f"The results of this workflow have {limits}"
        raise Refused(what, "Keep what you need of them as a file", code="TOO_LARGE")
    return raw


def read_run(key: str, raw: bytes) -> "tuple[Run, JsonObject]":
    """Parse a run and the results of its tasks. Raises `Refused` if it is not valid."""
    from pydantic import ValidationError

    from loci.workflows.run import ENDED, Run

    try:
        if len(raw) > LARGEST_RUN:
            raise ValueError(key)
        told = cast("dict[str, Any]", parsed(raw, MOST_VALUES))
        _check_size(told["run"])
        run, values = Run.model_validate(told["run"]), cast("JsonObject", dict(told["values"]))
        gone: dict[str, object] = {"caller": {}, "slot": None, "lease": None, "token": "", "checkpoint": None}
        planned = [one.id for one in run.plan.tasks]
        is_whole = len({*planned}) == len(planned) and run.tasks.keys() == {*planned}
        if run.status not in ENDED or not is_whole or not values.keys() <= run.tasks.keys():
            raise ValueError(run.status)
    except (ValidationError, AttributeError, LookupError, TypeError, ValueError, RecursionError):
        limits = f"{MOST_VALUES:,} values, or {DEEPEST} levels"
        what = f"The workflow {key} is not valid, or has more than {limits}"
        raise Refused(what, "Export it again", code=DAMAGED) from None
    decisions = tuple(_marked_as_imported(one) for one in run.decisions)
    return run.model_copy(update={**gone, "decisions": decisions}), values


def _marked_as_imported(decision: "Decision") -> "Decision":
    """The decision, marked as imported: the person in it may be made up."""
    by = decision.by.removesuffix(IMPORTED_MARK)
    return decision.model_copy(update={"by": by and by + IMPORTED_MARK})


def _check_size(run: Mapping[str, Any]) -> None:
    """Raise `ValueError` if the run has more parts than allowed: each takes far more memory than its bytes."""
    from loci.workflows.plan import MOST_TASKS

    tasks = max(len(run["plan"]["tasks"]), len(run["tasks"]))
    if tasks > MOST_TASKS or len(run.get("decisions", ())) > MOST_DECISIONS:
        raise ValueError(tasks)
