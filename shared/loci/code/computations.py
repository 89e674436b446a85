"""Attested Computations of the Open Knowledge Format: documents with code that computes a value, and a check of it.

The code and its attester are a stranger's. Each runs behind the wall in a process of its own, without tools, and only
when somebody calls it. What a receipt says, Loci has written itself.
"""

import hashlib
import json
import keyword
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, cast

from loci.code.ports import Cancelled, PythonResult, RunFailure, StoredContent, never
from loci.code.python import LARGEST_CODE, PythonRun, Runner
from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import Caller, Owner
from loci.core.ids import random_id
from loci.core.injections import warning_of
from loci.core.json import Json, JsonObject, iso
from loci.core.trust import gathered, saw
from loci.documents.api import Documents
from loci.documents.bundles import COMPUTATION, claim_of, is_computation
from loci.documents.document import Document, DocumentText
from loci.documents.foreign import foreign_of
from loci.documents.ingest.local_files import below_root, is_document, read_file
from loci.documents.validity import lacks_validity
from loci.files.api import Files
from loci.markdown.front_matter import mapping, nested_fields, read_front_matter
from loci.markdown.links import SCHEME
from loci.markdown.nouns import BOM
from loci.markdown.outline import outline_of_markdown
from loci.sandbox.supervisor.bounded_json import parsed_json
from loci.scratchpad.api import Scratchpad

TOOL: Final = "run_computation"
RUNTIME: Final = "python"
SUFFIX: Final = ".py"
FENCE: Final = re.compile(r"[ \t]*+(`{3,}|~{3,})[ \t]*+([^\s`]*+)")
LANGUAGES: Final = ("", "python", "python3", "py")
LARGEST_VALUES, LARGEST_RESULT, MOST_PARTS = 100_000, 200_000, 20_000
"""Bytes of the parameters, bytes of the value of a computation, and the parts of either."""
ATTESTER_SECONDS: Final = 20.0
LONGEST_REASON: Final = 500
LONGEST_PRINTED: Final = 2_000
RECEIPT_NAMES: Final = {
    "run_id": "run_id",
    "job_id": "run_id",
    **dict.fromkeys(("executed_code", "executed_python", "code"), "executed_code"),
    **dict.fromkeys(("result", "value", "output"), "result"),
}
"""The names that `executor.receipt` may give to fields of a receipt, beside their own."""
TYPES: Final[Mapping[str, Callable[[Json], bool]]] = {
    **dict.fromkeys(("integer", "int", "int64"), lambda it: type(it) is int),
    **dict.fromkeys(("number", "float", "float64", "double", "numeric"), lambda it: type(it) in (int, float)),
    **dict.fromkeys(("string", "str", "text"), lambda it: isinstance(it, str)),
    **dict.fromkeys(("boolean", "bool"), lambda it: isinstance(it, bool)),
    "date": lambda it: _is_iso(it, date),
    **dict.fromkeys(("datetime", "timestamp"), lambda it: _is_iso(it, datetime)),
    **dict.fromkeys(("array", "list"), lambda it: isinstance(it, list)),
    **dict.fromkeys(("object", "map"), lambda it: isinstance(it, dict)),
}
COMPUTE: Final = """
import json as _json
_values = _json.loads({values!r})
_scope = {{**globals(), **dict.fromkeys({names!r}), **_values, "__name__": "computation"}}
exec(compile({code!r}, "computation.py", "exec", dont_inherit=True), _scope)
if not callable(_scope.get("compute")) and "result" not in _scope:
    raise NameError("the computation defines neither compute(...) nor result")
_value = _scope["compute"](**_values) if callable(_scope.get("compute")) else _scope["result"]
_plain = lambda one: one.item() if hasattr(one, "item") else str(one)
open("value.json", "w").write(_json.dumps(_value, default=_plain, allow_nan=False))
"""
ATTEST: Final = """
import inspect as _inspect, json as _json
_given = _json.loads({given!r})
_scope = {{"__name__": "attester"}}
exec(compile({code!r}, "attester.py", "exec", dont_inherit=True), _scope)
_takes = _inspect.signature(_scope["attest"]).parameters
_every = any(one.kind is one.VAR_KEYWORD for one in _takes.values())
_verdict = _scope["attest"](**{{name: one for name, one in _given.items() if _every or name in _takes}})
open("value.json", "w").write(_json.dumps(_verdict, default=str))
"""
VALUE: Final = "value.json"


@dataclass(frozen=True, slots=True)
class SanctionedCode:
    """Code that a bundle sanctions, and the path that it comes from."""

    path: str
    text: str

    @property
    def sha256(self) -> str:
        return _sha256(self.text)


@dataclass(frozen=True, slots=True)
class Contract:
    """The contract in the front matter of a computation."""

    parameters: Mapping[str, tuple[str, bool]]
    """The type of each parameter by its name, and True if it is required."""
    computation: str | None
    attester: str | None
    receipt: tuple[str, ...]

    def checked(self, values: JsonObject) -> JsonObject:
        """The values, if each is declared and of its type, and none is missing that is required."""
        faults = [f"{name!r} is not declared" for name in values if name not in self.parameters]
        for name, (type, is_required) in self.parameters.items():
            if name not in values:
                faults += [f"{name} ({type}) is missing"] if is_required else []
            elif not TYPES[type](values[name]):
                faults.append(f"{name} is no {type}")
        if len(json.dumps(values).encode()) > LARGEST_VALUES:
            faults.append(f"they have more than {LARGEST_VALUES:,} bytes")
        if faults:
            told = ", ".join(
                f"{name}: {type}{' (required)' if is_required else ''}"
                for name, (type, is_required) in self.parameters.items()
            )
            what = f"The parameters do not fit: {'; '.join(faults)[:LONGEST_REASON]}"
            raise Refused(what, f"It takes {told or 'none'}", code="BAD_PARAMETERS")
        return values


@dataclass(frozen=True, slots=True)
class PreparedComputation:
    """A computation with its parameters, before anything runs."""

    document: Document
    sha256: str
    contract: Contract
    values: JsonObject
    code: SanctionedCode


class NoFiles:
    """The stored files of an attester: it sees nothing but the receipt."""

    def read(self, owner: Owner, id: str) -> StoredContent:  # noqa: ARG002
        raise NotFound("An attester reads no files", "Read only the receipt", code="MEMORY_NOT_FOUND")


class Computations:
    """Runs the computations of documents, and keeps a receipt of each run."""

    def __init__(
        self,
        documents: Callable[[], Documents],
        files: Callable[[], Files],
        runner: Callable[[], Runner],
        scratchpad: Scratchpad,
        clock: Callable[[], float],
    ) -> None:
        self._documents = documents
        self._files = files
        self._runner = runner
        self._scratchpad = scratchpad
        self._clock = clock

    def start(self, caller: Caller, name: str, values: JsonObject, cancelled: Cancelled = never) -> PythonRun:
        """Run it on a thread of its own. Raises `LociError` if it may not begin."""
        self.prepare(caller.owner, name, values)
        run = PythonRun(cancelled)
        self._runner().enter(caller.owner, run, lambda: self.run(caller, name, values, run.was_cancelled))
        return run

    def prepare(self, owner: Owner, name: str, values: JsonObject) -> PreparedComputation:
        """Read the computation as it is now, and check the parameters. Raises `LociError` if it cannot run."""
        text = self._documents().read(owner, name, remember=False)
        document, lines = text.document, _lines(text)
        if not is_computation(document):
            advice = f"Find one with search_documents, properties type={COMPUTATION.casefold()}"
            raise Refused(f"{document.path} is no {COMPUTATION}", advice, code="NO_COMPUTATION")
        contract = contract_of(document.path, lines)
        values = contract.checked(values)
        if contract.computation:
            code = self._code(owner, document, contract.computation)
        else:
            code = SanctionedCode(document.path, code_in(document.path, lines, "computation"))
        return PreparedComputation(document, text.sha256, contract, values, code)

    def run(self, caller: Caller, name: str, values: JsonObject, cancelled: Cancelled = never) -> JsonObject:
        """Run it, have its attester check the receipt, and keep that. The value comes only if the check allows it.

        The answer has the `sources` of the texts of others that it read: it runs on another thread than its call.
        """
        with gathered() as seen:
            try:
                answer = self._answer(caller.owner, name, values, cancelled)
                answer["sources"] = [*seen]
                return answer
            finally:  # an error has its words from them, too
                self._runner().note(caller, seen)

    def _answer(self, owner: Owner, name: str, values: JsonObject, cancelled: Cancelled) -> JsonObject:
        began = self._clock()
        it = self.prepare(owner, name, values)
        names = [*it.contract.parameters]
        code = COMPUTE.format(values=json.dumps(it.values), names=names, code=it.code.text)
        ran, content, inputs = self._runner().once(owner, code, VALUE, LARGEST_RESULT, cancelled)
        value = _value(ran, content, "The computation")
        receipt: JsonObject = {
            "run_id": random_id(16),
            "concept": it.document.path,
            "concept_sha256": it.sha256,
            "runtime": RUNTIME,
            "parameters": it.values,
            "parameters_sha256": _sha256(_canonical(it.values)),
            "inputs": [*inputs],
            "executed_code": it.code.text,
            "code_from": it.code.path,
            "code_sha256": it.code.sha256,
            "started_at": iso(began),
            "elapsed_ms": ran.elapsed_ms,
            "result": value,
            "result_sha256": _sha256(_canonical(value)),
            "stdout": ran.stdout[-LONGEST_PRINTED:],
        }
        receipt |= {name: receipt[own] for name, own in RECEIPT_NAMES.items() if name in it.contract.receipt}
        attested = self._attested(owner, it, receipt, cancelled)
        told: JsonObject = {"receipt": receipt, "attester": attested}
        about = f"{it.document.path} {_canonical(it.values)}"[:200]
        kept = self._scratchpad.keep(owner, TOOL, json.dumps(told, ensure_ascii=False), about=about)
        shown = value if attested["ok"] is not False else None
        today, reason = iso(self._clock())[:10], attested["reason"]
        return {
            "result": shown,
            "attested": attested["ok"] is True,
            "reason": reason,
            "warning": warning_of("\n".join([*_said(shown), str(reason or "")])),
            "receipt_id": kept.id,
            "path": it.document.path,
            "code_sha256": it.code.sha256,
            "attester_sha256": attested["sha256"],
            "validity": lacks_validity(it.document, today),
            "claim": claim_of(it.document),
        }

    def _attested(self, owner: Owner, it: PreparedComputation, receipt: JsonObject, cancelled: Cancelled) -> JsonObject:
        """The verdict of the attester; `ok` is None if the computation names no attester. It never raises for it."""
        verdict: JsonObject = {"resource": it.contract.attester, "sha256": None, "ok": False, "reason": None}
        if it.contract.attester is None:
            return verdict | {"ok": None, "reason": "It names no attester: nothing has checked this run"}
        try:
            attester = self._code(owner, it.document, it.contract.attester)
            verdict |= {"sha256": attester.sha256}
            if missing := [name for name in it.contract.receipt if name not in receipt]:
                lacks = ", ".join(missing)[:LONGEST_REASON]
                return verdict | {"reason": f"The receipt lacks what executor.receipt asks for: {lacks}"}
            again = self.prepare(owner, it.document.id, it.values)
            if again.code.sha256 != receipt["code_sha256"]:
                return verdict | {"reason": "The code changed while it ran"}
            sanctioned = dict.fromkeys(("sanctioned_code", "sanctioned_sql", "computation"), again.code.text)
            given = {"receipt": receipt, "claimed_value": receipt["result"], "parameters": it.values, **sanctioned}
            code = ATTEST.format(given=json.dumps(given), code=attester.text)
            ran, content, _ = self._runner().once(
                owner, code, VALUE, LARGEST_RESULT, cancelled, files=NoFiles(), seconds=ATTESTER_SECONDS
            )
            said = _value(ran, content, "The attester")
        except LociError as error:
            return verdict | {"reason": f"{error.code}: {error.what}"[:LONGEST_REASON]}
        fields = said if isinstance(said, dict) else {"ok": said}
        if fields.get("ok") is True:
            return verdict | {"ok": True}
        reason = fields.get("reason")
        told = reason if isinstance(reason, str) and reason else "it did not say ok"
        return verdict | {"reason": f"The attester refused this run: {told}"[:LONGEST_REASON]}

    def _code(self, owner: Owner, document: Document, resource: str) -> SanctionedCode:
        """The code that a field names: a document with one block of Python, a file beside it, or a stored file.

        A relative path starts at the document's folder, else at a folder above it, as both versions write them.
        """
        if SCHEME.match(resource):
            raise _bad(document.path, f"{resource[:80]} is a web address, and no code comes from there")
        library, catalog = self._documents().parts.library, self._documents().parts.catalog
        for path in _places(document.path, resource):
            if is_document(path):
                if (found := catalog.find(owner, path).document) is not None:
                    saw(foreign_of(found))
                    return SanctionedCode(path, code_in(path, _lines(library.read(owner, found.id)), None))
            elif path.endswith(SUFFIX) and (content := self._file(owner, document, path)) is not None:
                return SanctionedCode(path, _as_code(path, content))
        raise _bad(document.path, f"there is no {resource[:80]}, a {SUFFIX} file or a document with a block of Python")

    def file_of(self, owner: Owner, document: Document, resource: str) -> tuple[str, bytes] | None:
        """The path and the content of the file that a field of the document names. None if it is not here."""
        held = self._documents().parts.catalog.find(owner, document.path).document or document
        found = ((path, self._file(owner, held, path)) for path in _places(document.path, resource))
        return next(((path, content) for path, content in found if content is not None), None)

    def _file(self, owner: Owner, document: Document, path: str) -> bytes | None:
        """The file at that path of a document in the same folder of this machine, else the stored file of that path."""
        parts = self._documents().parts
        root = parts.catalog.root(owner, document.root) if document.root else None
        if root and path.startswith(f"{root.name}/"):
            with suppress(NotFound):
                file = f"{root.folder}/{below_root(path)}"
                if not parts.scan.leaves_out(root.folder, file):
                    return read_file(root.folder, below_root(path))
        with suppress(NotFound):
            return self._files().read(owner, self._files().id_at(owner, path)).content
        return None


def contract_of(path: str, lines: Sequence[str]) -> Contract:
    """The contract of a computation. Raises `Refused` if Loci cannot run it, with the reason."""
    fields = nested_fields(lines)
    if (runtime := _text(fields.get("runtime"))) != RUNTIME:
        what = f"{path} cannot be run here: its runtime is {runtime[:40]!r}, and Loci runs only {RUNTIME!r}"
        raise Refused(what, "Read the document, and run its code where that runtime is", code="BAD_COMPUTATION")
    parameters, declared = dict[str, tuple[str, bool]](), fields.get("parameters") or ()
    for one in cast("list[object]", declared) if isinstance(declared, list | tuple) else [None]:
        about = mapping(one)
        name, type = _text(about.get("name")), _text(about.get("type")).lower()
        if not name.isidentifier() or name.startswith("_") or keyword.iskeyword(name):
            raise _bad(path, f"{name[:40]!r} is no name of a parameter")
        if type not in TYPES:
            raise _bad(path, f"{type[:40]!r}, the type of {name[:40]}, is none of {', '.join(TYPES)}")
        parameters[name] = type, _text(about.get("required")).lower() == "true"
    attester, asked = fields.get("attester"), mapping(fields.get("executor")).get("receipt")
    receipt = tuple(map(_text, cast("list[object]", asked))) if isinstance(asked, list) else ()
    checked_by = _text(mapping(attester).get("resource")) or None
    if attester and not checked_by:
        raise _bad(path, "its attester names no file: write `attester: {resource: attesters/check.py}`")
    return Contract(parameters, _text(fields.get("computation")) or None, checked_by, receipt)


def code_in(path: str, lines: Sequence[str], section: str | None) -> str:
    """The one block of Python in the section of that title, or in the whole text."""
    outline = outline_of_markdown(lines, read_front_matter(lines).lines)
    first, end = 0, len(lines)
    if section is not None:
        at = next((number for number, one in enumerate(outline.headings) if one.title.casefold() == section), None)
        if at is None:
            raise _bad(path, f"it has no section {section.capitalize()}")
        own = outline.headings[at]
        first = own.line
        end = next((one.line - 1 for one in outline.headings[at + 1 :] if one.level <= own.level), end)
    blocks = [(start, stop) for start, stop in outline.code if first <= start < end]
    if len(blocks) != 1:
        raise _bad(path, f"it has {len(blocks)} blocks of code where one is the code")
    return _block(path, lines[slice(*blocks[0])])


def _block(path: str, lines: Sequence[str]) -> str:
    fence = FENCE.match(lines[0])
    if fence is None:  # it is indented
        return "\n".join(line[4:] for line in lines) + "\n"
    if fence[2].lower() not in LANGUAGES:
        raise _bad(path, f"its code is {fence[2][:40]!r}, not Python")
    last = lines[-1].strip()
    is_closed = len(lines) > 1 and last.startswith(fence[1]) and not last.strip(fence[1][0])
    return "\n".join(lines[1:-1] if is_closed else lines[1:]) + "\n"


def _places(path: str, resource: str) -> Iterator[str]:
    """The paths that a field of the document at this path may name, none outside the document's root."""
    folder = posixpath.dirname(path)
    root = folder.partition("/")[0]
    while True:
        found = posixpath.normpath(f"{folder}/{resource.lstrip('/')}" if folder else resource.lstrip("/"))
        if found.startswith(f"{root}/") if root else not found.startswith(".."):
            yield found
        if folder == root:
            return
        folder = posixpath.dirname(folder)


def _as_code(path: str, content: bytes) -> str:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise _bad(path, "it is no UTF-8") from None
    if len(content) > LARGEST_CODE:
        raise _bad(path, f"it has more than {LARGEST_CODE:,} bytes")
    return text


def _value(ran: PythonResult, content: bytes, who: str) -> Json:
    """The value that a run left. Raises `Refused` with the reason if it left none."""
    if isinstance(ran.outcome, RunFailure):
        last = (ran.outcome.traceback or ran.outcome.what).strip()[-LONGEST_REASON:]
        advice = "Tell its author; the parameters may be at fault"
        raise Refused(f"{who} failed: {last}", advice, code="COMPUTATION_FAILED")
    try:
        return cast("Json", parsed_json(content, MOST_PARTS))
    except ValueError as error:
        raise Refused(f"{who} left no value: {str(error)[:80]}", "Tell its author", code="COMPUTATION_FAILED") from None


def _is_iso(value: Json, type: type[date]) -> bool:
    try:
        return isinstance(value, str) and bool(type.fromisoformat(value))
    except ValueError:
        return False


def _lines(text: DocumentText) -> list[str]:
    return text.text.removeprefix(BOM).replace("\r\n", "\n").split("\n")


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _said(value: Json) -> Iterator[str]:
    """The texts in a value, as a reader gets them: JSON would write their line ends as other signs."""
    left = [value]
    while left:
        match left.pop():
            case dict() as some:
                left += [*some.values(), *some]
            case list() as some:
                left += some
            case None:
                pass
            case one:
                yield str(one)


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _bad(path: str, why: str) -> Refused:
    return Refused(f"{path} cannot be run: {why}", "Tell its author, or correct the document", code="BAD_COMPUTATION")
