"""The way to a configured server: the secrets in its entry, and the values that fill the entry in."""

import base64
import json
import os
import re
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, cast
from urllib.parse import unquote, unquote_plus

from loci.core.cancellation import Cancellation
from loci.core.deadline import time_for
from loci.core.errors import LociError, NotFound, Refused
from loci.core.identity import Owner
from loci.core.json import JsonObject
from loci.core.secrets_in_text import ALWAYS, OFTEN, known_secrets, secret_kind, secrets_in, words_of
from loci.core.server_questions import ServerAnswers, ServerAsks, ServerQuestion
from loci.core.stores import RecordStore, SecretBox, every
from loci.gateway.configuration import (
    SEALED,
    VARIABLE,
    ConfiguredServer,
    OAuthEntry,
    ServerEntry,
    check_public,
    not_configured,
)
from loci.gateway.logins import Logins
from loci.gateway.offer import Method, Offer
from loci.gateway.ports import LoginRequest, Progress, ServerConnections, ToolServerError
from loci.gateway.tool_server import Endpoint, LambdaFunction, Program, ToolServer, UpstreamTool

Other = Callable[[str, str], str]
"""Returns the replacement of a text that may be secret, given its name and the text."""
FLAG: Final = re.compile(r"(?P<flag>--?[A-Za-z][\w-]*)=(?P<value>.+)", re.DOTALL)
URL: Final = re.compile(r"[a-z][a-z0-9+.-]{0,20}://")
LOGIN: Final = re.compile(r"(?<=://)[^\s/@?#]*(?=@)")
ASSIGNED: Final = re.compile(r"(?<![\w.-])(?P<name>[\w.-]{1,40})=(?P<value>[^\s\"',;&]+)")
SCHEME: Final = re.compile(r"[A-Za-z-]{1,20}\s+(?P<rest>\S+)")
SECRET_WORDS: Final = ALWAYS | OFTEN | {"key", "keys", "login", "otp", "pass", "pat", "tokens"}
NOT_SECRET: Final = frozenset({"enabled", "file", "header", "host", "length", "mode", "name", "path", "type", "url"})
"""The last words of names such as `KEY_FILE`."""
OF_THIS_PLACE: Final = {"no_variables": False, "only_public": False, "trust_views": False}
"""The settings that are not exported: each installation decides for itself which servers it trusts."""
NETWORK: Final = (
    *("PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"),
)
"""The variables of this machine that a program gets, unless its entry has `own_environment`."""
NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9]+")


def only_names(text: str) -> bool:
    """True if nothing in the text itself is secret: it is `Bearer ${TOKEN}`, or `${TOKEN}`."""
    names = list(VARIABLE.finditer(text))
    rest = VARIABLE.sub("", text).strip()
    return bool(names) and rest in ("", "Bearer") and not any(one["default"] for one in names)


def safe_entry(entry: ServerEntry, value: Other, part: Other) -> ServerEntry:
    """The entry with other texts: `value` for whole values, `part` for what may be secret in arguments and the URL."""
    oauth = entry.oauth
    if oauth is not None and oauth.client_secret is not None:
        oauth = oauth.model_copy(update=safe_values({"client_secret": oauth.client_secret}, value))
    return entry.model_copy(
        update={
            "env": safe_values(entry.env, value),
            "headers": safe_values(entry.headers, value),
            "query": safe_values(entry.query, value),
            "oauth": oauth,
            "args": safe_arguments(entry.args, part),
            "url": entry.url and safe_url(entry.url, part),
        }
    )


def safe_values(values: Mapping[str, str], other: Other) -> dict[str, str]:
    """The values of variables and headers, with another text for each that does not only name others."""
    return {name: _safe(name, text, other) for name, text in values.items()}


def safe_arguments(arguments: Sequence[str], other: Other) -> list[str]:
    """The arguments, with another text for each that looks like a secret, or follows the name of a secret."""
    kept: list[str] = []
    before = ""
    for number, one in enumerate(arguments, 1):
        flag = FLAG.fullmatch(one)
        if flag and _may_be_secret(flag["flag"], flag["value"]):
            kept.append(f"{flag['flag']}={_safe(flag['flag'], flag['value'], other)}")
        elif URL.match(one):
            kept.append(safe_url(one, other))
        elif not one.startswith("-") and _may_be_secret(before, one):
            kept.append(_safe(before.lstrip("-") or f"arg {number}", one, other))
        else:
            kept.append(one)
        before = one if one.startswith("-") else ""
    return kept


def safe_url(url: str, other: Other) -> str:
    """The URL, with another text for its user and password, and for the values of its query: they may be secret."""
    place, sign, query = LOGIN.sub(lambda found: other("login", found[0]), url).partition("?")
    # Some servers have their key in the path.
    parts = [
        _safe(f"path {at}", one, other) if at > 2 and _may_be_secret("", one) else one
        for at, one in enumerate(place.split("/"))
    ]
    pairs = [one.partition("=") for one in query.split("&")]
    values = "&".join(f"{name}{equals}{value and _safe(name, value, other)}" for name, equals, value in pairs)
    return f"{'/'.join(parts)}{sign}{values}"


def _safe(name: str, text: str, other: Other) -> str:
    return text if only_names(text) else other(name, text)


def _may_be_secret(name: str, text: str) -> bool:
    return bool(SEALED.search(text)) or secret_kind(text, name.lstrip("-")) is not None


@lru_cache(500)
def server_secrets(
    values: tuple[tuple[str, str], ...], arguments: tuple[str, ...], url: str, certain: tuple[str, ...]
) -> frozenset[str]:
    """The secrets that a server is given, and the parts of them that it may repeat alone. Each call needs them.

    `values`: variables and headers. `certain`: texts that are secret whatever they look like.
    """
    named = [*values, *zip(("", *arguments), arguments, strict=False)]
    named += [(found["flag"], found["value"]) for one in arguments if (found := FLAG.fullmatch(one))]
    named += [(name, text) for name, _, text in (one.partition("=") for one in url.partition("?")[2].split("&"))]
    named += [("login", found[0]) for found in LOGIN.finditer(url)]
    named += [("", one) for one in url.partition("?")[0].split("/")[3:]]
    found = (secret for name, text in named for secret in _secrets_in(name, text))
    return frozenset(one for secret in (*certain, *found) for one in _spellings(secret))


def _secrets_in(name: str, text: str) -> Iterator[str]:
    """The whole text, if its name says that it is secret; else the parts that look secret. Folders look random, too."""
    if _is_secret_name(name):
        yield text
    for one in known_secrets(text) if "/" in text else secrets_in(text):
        yield text[one.start : one.end]


def _is_secret_name(name: str) -> bool:
    words = words_of(name)
    return not SECRET_WORDS.isdisjoint(words) and words[-1] not in NOT_SECRET and "public" not in words


def _spellings(secret: str) -> Iterator[str]:
    """The secret, and its secret parts: a token without its scheme, the password of an address or a list."""
    yield secret
    if "%" in secret:
        yield unquote_plus(secret)
    if scheme := SCHEME.fullmatch(secret):
        yield scheme["rest"]
        with suppress(ValueError):
            pair = base64.b64decode(scheme["rest"], validate=True).decode()
            yield from (pair, pair.partition(":")[2])
    for one in LOGIN.findall(secret) or [secret]:
        password = one.partition(":")[2]
        yield from (password, unquote(password))
    try:
        fields: Any = json.loads(secret) if secret.startswith("{") else {}
    except (ValueError, RecursionError):
        fields = {}
    pairs = cast("dict[str, Any]", fields).items() if isinstance(fields, dict) else ()
    for name, text in (*pairs, *((one["name"], one["value"]) for one in ASSIGNED.finditer(secret))):
        if isinstance(text, str) and (_is_secret_name(name) or secret_kind(text)):
            yield text


@dataclass(frozen=True, slots=True)
class PortableEntry:
    """An entry without secrets."""

    entry: JsonObject
    secrets: tuple[str, ...]
    """The names of the secrets that must be set where it is imported."""
    is_restricted: bool
    """True: it came with an import, and no person at this machine has vouched for it."""


def portable(server: str, entry: ServerEntry) -> PortableEntry:
    """The entry without secrets. Values of headers and variables never leave, unless they only name others."""

    def named(name: str, _: str) -> str:
        words = NOT_IN_A_NAME.sub("_", f"{server}_{name}").strip("_").upper()
        return f"${{{words if not words[:1].isdigit() else f'_{words}'}}}"

    changed = safe_entry(entry, named, named).model_copy(update=OF_THIS_PLACE)
    value = changed.as_json()
    needed = [one["name"] for one in _variables(changed) if one["default"] is None]
    return PortableEntry(value, tuple(dict.fromkeys(needed)), entry.no_variables or entry.only_public)


CLOSED = "closed:"
"""Begins the value of a header or a variable that is stored closed."""
SECRET = "tool_secret"  # noqa: S105 (it names a kind of records)
"""The kind of records of secrets. The key is the name."""
SECRET_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,79}")
LONGEST_SECRET = 16 * 1024


class Secrets:
    """The secrets of owners for tool servers, kept encrypted: `${NAME}` in an entry stands for a secret."""

    def __init__(self, records: RecordStore, box: SecretBox) -> None:
        self._records = records
        self.box = box

    def put(self, owner: Owner, name: str, text: str) -> None:
        """Store the secret under this name, or replace it."""
        if not SECRET_NAME.fullmatch(name):
            raise Refused(f"{name[:80]!r} is no name for a secret", "Use letters, digits and _", code="BAD_NAME")
        if not text or len(text) > LONGEST_SECRET:
            raise Refused(f"A secret has 1 to {LONGEST_SECRET} characters", "Give another", code="BAD_SECRET")
        self._records.put(owner, SECRET, name, {"closed": self.box.close(owner, text)})

    def get(self, owner: Owner, name: str) -> str | None:
        """The secret; None if no secret has this name."""
        record = self._records.get(owner, SECRET, name)
        return self.box.open(owner, str(record.value["closed"])) if record else None

    def names(self, owner: Owner) -> list[str]:
        """The names of the owner's secrets."""
        return [one.key for one in every(self._records, owner, SECRET)]

    def remove(self, owner: Owner, name: str) -> None:
        """Forget the secret. Raises `NotFound` if no secret has this name."""
        if self._records.get(owner, SECRET, name) is None:
            known = ", ".join(self.names(owner))
            raise NotFound(f"There is no secret {name[:80]!r}", f"There are {known}" if known else "There are none")
        self._records.remove(owner, SECRET, name)


@dataclass(slots=True)
class _FilledIn:
    """Secrets of the owner that were filled in, and variables of this machine by their names."""

    secrets: list[str] = field(default_factory=list[str])
    variables: dict[str, str] = field(default_factory=dict[str, str])


class ServerResolver:
    """Fills in entries. The values come only from the owner's secrets and the variables that Loci may show."""

    def __init__(
        self,
        secrets: Secrets,
        variable: Callable[[str], str | None],
        logins: Logins,
        *,
        only_public: bool = False,
    ) -> None:
        """`variable`: of the environment in which Loci runs. `only_public`: no programs, and no private addresses."""
        self.secrets = secrets
        self._variable = variable
        self.logins = logins
        self._only_public = only_public

    def closed(self, owner: Owner, entry: ServerEntry) -> ServerEntry:
        """The entry as it is stored: texts that may be secret are encrypted, unless they only name others."""
        return closed_entry(entry, partial(self.secrets.box.close, owner))

    def check(self, owner: Owner, name: str, entry: ServerEntry) -> None:
        """Raise `Refused` if the entry names a variable or a secret that is not set. Opens no secret."""
        self.check_place(name, entry)
        known = frozenset(self.secrets.names(owner))
        for found in _variables(entry):
            needed = found["name"]
            if not (needed in known or found["default"] is not None or self._variable_for(entry, needed) is not None):
                raise self._missing(name, entry, needed)

    def filled_here(self, owner: Owner, entry: ServerEntry) -> list[str]:
        """The names in the entry that a secret of the owner or a variable has. Opens no secret."""
        known = frozenset(self.secrets.names(owner))
        names = sorted({one["name"] for one in _variables(entry)})
        return [one for one in names if one in known or self._variable(one) is not None]

    def check_place(self, name: str, entry: ServerEntry) -> None:
        """Raise `Refused` if Loci connects to no server at this place."""
        if self._only_public:
            check_public(name, entry)

    def server(self, owner: Owner, configured: ConfiguredServer) -> ToolServer:
        """The server, with everything filled in. Raises `LociError` if something is missing."""
        name, entry = configured.name, configured.entry
        if entry.url is not None:
            wanted = self.login_request(owner, configured)
            reach: Program | Endpoint | LambdaFunction = wanted.endpoint
            if not entry.has_authorization and (bearer := self.logins.bearer(owner, wanted)) is not None:
                reach = replace(wanted.endpoint, bearer=bearer)
        elif entry.function is not None:
            reach = LambdaFunction(entry.function)
        else:
            given = _FilledIn()
            filled = self._filling(owner, configured, given)
            folder, arguments = filled(entry.cwd) if entry.cwd else None, tuple(map(filled, entry.args))
            values = {one: filled(text) for one, text in entry.env.items()}
            network = {} if entry.own_environment else network_variables()
            # The password of a proxy is in its address.
            certain = [*given.secrets, *(one[0] for text in network.values() for one in LOGIN.finditer(text))]
            secrets = server_secrets(tuple({**given.variables, **values}.items()), arguments, "", tuple(certain))
            reach = Program(filled(entry.command or ""), arguments, values, folder, secrets, network)
        return ToolServer(name, reach, entry.seconds, entry.at_once, configured.session, entry.trust_views)

    def login_request(self, owner: Owner, configured: ConfiguredServer) -> LoginRequest:
        """The login that the entry asks for, with everything filled in. Raises `LociError` if something is missing."""
        name, entry, given = configured.name, configured.entry, _FilledIn()
        filled = self._filling(owner, configured, given)
        if entry.url is None:
            raise Refused(f"{name} is a program: it has no login of Loci's", "Give it what it needs as a variable")
        url, headers = filled(entry.url), {one: filled(text) for one, text in entry.headers.items()}
        query = {one: filled(text) for one, text in entry.query.items()}
        oauth = OAuthEntry()
        if entry.oauth is not None:
            oauth = entry.oauth.model_copy(update={one: filled(text) for one, text in _texts(entry.oauth).items()})
        certain = [*given.secrets, *query.values(), oauth.client_secret or ""]
        secrets = server_secrets(tuple({**given.variables, **headers}.items()), (), url, tuple(certain))
        endpoint = Endpoint(
            url,
            headers,
            only_public=entry.only_public,
            secrets=secrets,
            is_api=entry.type == "openapi",
            query=query,
            base_url=entry.base_url,
            methods=tuple(entry.methods),
        )
        return LoginRequest(name, entry.url, endpoint, oauth)

    def _filling(self, owner: Owner, server: ConfiguredServer, given: _FilledIn) -> Callable[[str], str]:
        """The function that fills in a text of this server's entry, and notes what it fills in."""

        def value(found: re.Match[str]) -> str:
            name = found["name"]
            secret = self.secrets.get(owner, name)
            if secret is not None:
                given.secrets.append(secret)
                return secret
            variable = self._variable_for(server.entry, name)
            if variable is None and found["default"] is None:
                raise self._missing(server.name, server.entry, name)
            return given.variables.setdefault(name, found["default"] if variable is None else variable)

        def filled(text: str) -> str:
            if text.startswith(CLOSED):
                text = self.secrets.box.open(owner, text.removeprefix(CLOSED))
            text = SEALED.sub(lambda found: self.secrets.box.open(owner, found["text"]), text)
            return VARIABLE.sub(value, text)

        return filled

    def _variable_for(self, entry: ServerEntry, name: str) -> str | None:
        return None if entry.no_variables else self._variable(name)

    def _missing(self, name: str, entry: ServerEntry, needed: str) -> Refused:
        is_kept_back = entry.no_variables and self._variable(needed) is not None
        why = ", and gets no variable of this machine, because it came with an import" if is_kept_back else ""
        return not_configured(name, f"it needs {needed}{why}", f"Store it with: loci tools secret {needed}")


class RedactedServers:
    """`ToolServers` over connections of this process. No secret that a server was given comes back from it."""

    def __init__(self, connections: ServerConnections, resolver: ServerResolver) -> None:
        self._connections = connections
        self._resolver = resolver

    def tools(self, owner: Owner, server: ConfiguredServer) -> Sequence[UpstreamTool]:
        reached = self._resolver.server(owner, server)
        with _redacted(reached):
            found = self._connections.tools(owner, reached)
        words = reached.redaction().value([[one.title, one.description] for one in found])
        faults = [reached.redaction().value(one.fault) for one in found]
        # Calls repeat the rest, so a password such as "postgres" or "password" must not change it.
        exact: list[list[Any]] = reached.redaction(plain_words=False).value(
            [
                [one.name, one.input_schema, one.output_schema, one.annotations, one.view, one.visibility]
                for one in found
            ]
        )
        return [
            UpstreamTool(server.name, name, title, description or "", *more, fault=fault, view=view, visibility=seen_by)
            for (title, description), (name, *more, view, seen_by), fault in zip(words, exact, faults, strict=True)
        ]

    def offers(self, owner: Owner, server: ConfiguredServer) -> Sequence[Offer]:
        reached = self._resolver.server(owner, server)
        with _redacted(reached):
            found = self._connections.offers(owner, reached)
        words = reached.redaction().value([[one.title, one.description] for one in found])
        exact: list[list[Any]] = reached.redaction(plain_words=False).value(
            [[one.name, one.uri, one.more] for one in found]
        )
        return [
            Offer(server.name, one.kind, name, uri, title, description or "", more)
            for one, (title, description), (name, uri, more) in zip(found, words, exact, strict=True)
        ]

    def fetch(self, owner: Owner, server: ConfiguredServer, method: Method, params: JsonObject) -> JsonObject:
        reached = self._resolver.server(owner, server)
        with _redacted(reached):
            result = self._connections.fetch(owner, reached, method, params)
        return reached.redaction().value(result)

    def call(
        self,
        owner: Owner,
        server: ConfiguredServer,
        tool: str,
        arguments: JsonObject,
        *,
        seconds: float | None = None,
        progress: Progress | None = None,
        cancelled: Cancellation | None = None,
        answers: ServerAnswers | None = None,
    ) -> JsonObject:
        limit = time_for(server.entry.seconds if seconds is None else seconds)
        until = time.monotonic() + limit
        reached = self._resolver.server(owner, server)
        left = until - time.monotonic()
        if left <= 0:  # a renewal of the login goes on to its end; the caller may have gone
            what = f"It took more than {limit:.3g} s to get the login and the secrets for {server.name}"
            raise ToolServerError(what, "The call was not made. Try again")

        def told(done: float, total: float | None, message: str | None) -> None:
            if progress is not None:
                progress(done, total, reached.redaction().value(message))

        with _redacted(reached):
            result = self._connections.call(
                owner,
                reached,
                tool,
                arguments,
                seconds=left,
                progress=told if progress else None,
                cancelled=cancelled,
                answers=answers,
            )
        return reached.redaction().value(result)

    def close(
        self,
        owner: Owner | None = None,
        name: str | None = None,
        *,
        session: str | None = None,
        for_good: bool = False,
    ) -> None:
        self._connections.close(owner, name, session=session, for_good=for_good)


def network_variables() -> dict[str, str]:
    """The variables of this machine that its programs need to find others and to reach the network."""
    return {name: os.environ[name] for one in NETWORK for name in (one, one.lower()) if name in os.environ}


def closed_entry(entry: ServerEntry, close: Callable[[str], str]) -> ServerEntry:
    """The entry with everything closed that may be secret and does not only name others."""

    def closed(_: str, text: str) -> str:
        return text if text.startswith(CLOSED) else CLOSED + close(text)

    def closed_part(_: str, text: str) -> str:
        return text if SEALED.fullmatch(text) else f"${{closed+{close(text)}}}"

    return safe_entry(entry, closed, closed_part)


@contextmanager
def _redacted(server: ToolServer) -> Generator[None]:
    """Blank the secrets in errors: the server may have repeated them."""
    try:
        yield
    except ServerAsks as asks:
        asked = server.redaction().value(asks.as_json())["questions"]
        asks.questions = tuple(ServerQuestion(**one) for one in cast("list[dict[str, Any]]", asked))
        raise server.redaction().error(asks) from None
    except LociError as error:
        raise server.redaction().error(error) from None


def _variables(entry: ServerEntry) -> Iterator[re.Match[str]]:
    """All places in the entry that are to be filled in."""
    texts = [*entry.args, entry.url, entry.command, entry.cwd, *entry.env.values(), *entry.headers.values()]
    texts += [*entry.query.values(), *_texts(entry.oauth).values()]
    return (one for text in texts if text for one in VARIABLE.finditer(text))


def _texts(oauth: OAuthEntry | None) -> dict[str, str]:
    """The settings that may name variables and secrets."""
    return {} if oauth is None else oauth.model_dump(exclude={"grant", "callback_port"}, exclude_none=True)
