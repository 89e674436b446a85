"""Clients, codes and grants of the built-in authorization server, on each record store."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from loci.auth.api_keys import ApiKeys
from loci.auth.grants import (
    ACCESS_SECONDS,
    CODE_SECONDS,
    KIND,
    REPEATED_SECONDS,
    UNUSED_SECONDS,
    AskedGrant,
    Grants,
    SignedInBy,
    Tokens,
)
from loci.auth.oauth_clients import HOUR, KEPT_SECONDS, MOST_IN_ALL, MOST_OF_ADDRESS, OAuthClients, TooManyPrograms
from loci.auth.oauth_clients import UNUSED_SECONDS as CLIENT_SECONDS
from loci.core.errors import NotFound, Refused
from loci.core.identity import SYSTEM
from loci.core.scopes import SCOPES
from loci.core.signing import Keyring
from loci.core.stores import RecordStore
from tests.contract.stores import ADAPTERS, ANN, BOB, Clock, Opener, at_once, on_moto_too
from tests.support.each import each

MCP = "https://loci.test/mcp"
REDIRECT = "https://client.test/callback"
ASKED = AskedGrant(
    client="client-1",
    redirect=REDIRECT,
    named_redirect=True,
    challenge="c" * 43,
    scopes=tuple(SCOPES),
    resource=MCP,
    state="state",
)


@dataclass(frozen=True, slots=True)
class Parts:
    keys: ApiKeys
    clients: OAuthClients
    grants: Grants
    key: str
    """The id of Ann's key."""

    def code(self, asked: AskedGrant = ASKED) -> str:
        return self.grants.allow(asked, "A client", ANN, SignedInBy(self.key))

    def tokens(self, asked: AskedGrant = ASKED) -> Tokens:
        tokens = self.grants.exchange(self.code(asked), asked.client)
        assert tokens is not None
        return tokens

    def renewed(self, tokens: Tokens) -> Tokens:
        assert self.grants.renewable(tokens.renews, "client-1") is not None
        later = self.grants.renew(tokens.renews, tokens.scopes)
        assert later is not None
        return later

    def is_good(self, tokens: Tokens, resource: str = MCP) -> bool:
        return self.grants.caller_of(tokens.access, [resource]) is not None


def nowhere(url: str) -> bytes:
    raise AssertionError(url)


@pytest.fixture(scope="module")
def adapter(request: pytest.FixtureRequest) -> Iterator[Opener]:
    """The store of this machine, and moto where codes and tokens race or a time is over: its requests are one step."""
    with ADAPTERS[getattr(request, "param", "embedded")]() as opener:
        yield opener


@pytest.fixture
def parts(records: RecordStore, clock: Clock) -> Parts:
    keys, keyring = ApiKeys(records, clock), Keyring(["s" * 40])
    grants = Grants(records, keyring, keys, clock)
    clients = OAuthClients(records, nowhere, clock)
    return Parts(keys, clients, grants, keys.create(ANN, "laptop")[0].id)


def test_a_code_gives_tokens_that_name_their_owner_and_scopes_and_are_good_at_their_resource_only(parts: Parts) -> None:
    tokens = parts.tokens(replace(ASKED, scopes=("files:read",)))
    caller = parts.grants.caller_of(tokens.access, [MCP])
    assert caller is not None
    assert (caller.owner, caller.proof, caller.scopes) == (ANN, "grant", frozenset({"files:read"}))
    assert not caller.may("files:write")
    assert not parts.is_good(tokens, "https://other.test/mcp")


def test_a_code_is_kept_as_a_hash(parts: Parts, records: RecordStore) -> None:
    code = parts.code()
    assert code not in str(records.list(SYSTEM, KIND))


@on_moto_too
def test_a_second_exchange_of_a_code_ends_the_tokens_of_the_first(parts: Parts) -> None:
    code = parts.code()
    tokens = parts.grants.exchange(code, "client-1")
    assert tokens is not None
    assert parts.is_good(tokens)
    assert parts.grants.with_code(code, "client-1") is None
    assert not parts.is_good(tokens)


@on_moto_too
def test_of_two_exchanges_at_once_nobody_keeps_the_tokens(parts: Parts) -> None:
    code = parts.code()
    given = [one for one in at_once(4, lambda _: parts.grants.exchange(code, "client-1")) if one]
    assert len(given) <= 1
    assert not any(parts.is_good(one) for one in given)


def test_a_code_of_another_client_is_nobodys_and_harms_nobody(parts: Parts) -> None:
    code = parts.code()
    assert parts.grants.with_code(code, "client-2") is None
    assert parts.grants.exchange(code, "client-2") is None
    assert parts.grants.exchange(code, "client-1") is not None


def test_a_renewal_gives_new_tokens(parts: Parts) -> None:
    first = parts.tokens()
    second = parts.renewed(first)
    assert second.renews != first.renews
    assert parts.is_good(second)


@on_moto_too
def test_a_client_that_lost_its_answer_gets_it_again(parts: Parts, clock: Clock) -> None:
    first = parts.tokens()
    second = parts.renewed(first)
    clock.now += REPEATED_SECONDS
    assert parts.renewed(first).renews == second.renews
    assert parts.is_good(second)


@on_moto_too
def test_a_stolen_token_that_was_renewed_ends_the_grant(parts: Parts, clock: Clock) -> None:
    first = parts.tokens()
    second = parts.renewed(first)
    clock.now += REPEATED_SECONDS + 1
    assert parts.grants.renewable(first.renews, "client-1") is None
    assert not parts.is_good(second)
    assert parts.grants.renewable(second.renews, "client-1") is None


def test_one_that_was_renewed_twice_ends_it_at_once(parts: Parts) -> None:
    first = parts.tokens()
    third = parts.renewed(parts.renewed(first))
    assert parts.grants.renewable(first.renews, "client-1") is None
    assert not parts.is_good(third)


@on_moto_too
def test_renewals_at_once_all_give_the_same_next_token(parts: Parts) -> None:
    first = parts.tokens()
    given = at_once(4, lambda _: parts.grants.renew(first.renews, first.scopes))
    assert len({one.renews for one in given if one}) == 1


def test_another_client_renews_nothing_and_ends_nothing(parts: Parts) -> None:
    tokens = parts.tokens()
    assert parts.grants.renewable(tokens.renews, "client-2") is None
    assert parts.grants.renewable(tokens.renews, "client-1") is not None


def test_an_access_token_ends_and_its_grant_holds(parts: Parts, clock: Clock) -> None:
    tokens = parts.tokens()
    clock.now += ACCESS_SECONDS + 1
    assert not parts.is_good(tokens)
    assert parts.is_good(parts.renewed(tokens))


@on_moto_too
def test_a_grant_that_nobody_renews_ends(parts: Parts, clock: Clock) -> None:
    tokens = parts.tokens()
    clock.now += UNUSED_SECONDS + 1
    assert parts.grants.renewable(tokens.renews, "client-1") is None
    assert parts.grants.list() == []


def end_by_key(parts: Parts) -> None:
    parts.keys.revoke(parts.key)


def end_by_id(parts: Parts) -> None:
    parts.grants.revoke(parts.grants.list()[0].id)


def end_by_owner(parts: Parts) -> None:
    parts.grants.revoke(parts.grants.of(ANN)[0].id, ANN)


@on_moto_too
@each("end", [end_by_key, end_by_id, end_by_owner])
def test_what_is_revoked_ends_all(parts: Parts, end: Callable[[Parts], None], clock: Clock) -> None:
    clock.now += 1  # the times of consents and of their ends have seconds
    parts = replace(parts, key=parts.keys.create(ANN, "phone")[0].id)
    tokens = parts.tokens()
    end(parts)
    assert not parts.is_good(tokens)
    assert parts.grants.renewable(tokens.renews, "client-1") is None
    assert parts.grants.list() == parts.grants.of(ANN) == []


@on_moto_too
def test_an_owner_sees_each_grant_of_a_client_newest_first_also_after_renewals(parts: Parts, clock: Clock) -> None:
    first = parts.tokens()
    clock.now += UNUSED_SECONDS - 1
    second, first = parts.tokens(), parts.renewed(first)
    clock.now += 2
    held = parts.grants.of(ANN)
    assert [one.created for one in held] == sorted((one.created for one in held), reverse=True)
    assert len(held) == len(parts.grants.list()) == 2
    assert parts.grants.of(BOB) == []
    parts.grants.revoke(held[1].id, ANN)
    assert (parts.is_good(parts.renewed(second)), parts.grants.renewable(first.renews, "client-1")) == (True, None)
    assert [one.id for one in parts.grants.of(ANN)] == [held[0].id]


def test_nobody_ends_a_grant_of_another_owner(parts: Parts) -> None:
    tokens = parts.tokens()
    [grant] = parts.grants.of(ANN)
    with pytest.raises(NotFound, match="/ui/settings"):
        parts.grants.revoke(grant.id, BOB)
    assert parts.is_good(tokens)


def test_a_consent_whose_code_was_not_exchanged_is_no_connection(parts: Parts, clock: Clock) -> None:
    code = parts.code()
    assert (parts.grants.of(ANN), parts.grants.list()) == ([], [])
    clock.now += CODE_SECONDS + 1
    assert parts.grants.exchange(code, "client-1") is None


def test_an_unknown_grant_is_told(parts: Parts) -> None:
    with pytest.raises(NotFound, match="loci clients list"):
        parts.grants.revoke("nothing")


@on_moto_too
def test_a_client_that_nobody_allows_anything_is_forgotten(parts: Parts, clock: Clock) -> None:
    client, kept = (parts.clients.register("One", [REDIRECT], "192.0.2.1") for _ in range(2))
    parts.clients.keep(kept)
    clock.now += CLIENT_SECONDS + 1
    assert parts.clients.get(client.id) is None
    assert parts.clients.get(kept.id) == kept
    clock.now += KEPT_SECONDS
    assert parts.clients.get(kept.id) is None


@on_moto_too
def test_an_address_registers_only_so_many_in_an_hour(parts: Parts, clock: Clock) -> None:
    for _ in range(MOST_OF_ADDRESS):
        parts.clients.register("One", [REDIRECT], "2001:db8:1:2::1")
    with pytest.raises(TooManyPrograms):
        parts.clients.register("One", [REDIRECT], "2001:db8:1:ff02::9")  # the same network
    parts.clients.register("One", [REDIRECT], "2001:db8:2:2::1")
    clock.now += HOUR
    parts.clients.register("One", [REDIRECT], "2001:db8:1:2::1")


def test_all_addresses_together_register_only_so_many(parts: Parts) -> None:
    for number in range(MOST_IN_ALL):
        parts.clients.register("One", [REDIRECT], f"192.0.2.{number % 50}")
    with pytest.raises(TooManyPrograms):
        parts.clients.register("One", [REDIRECT], "198.51.100.1")


@each(
    "redirect",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "intent://x#Intent;end",
        "http://client.test/callback",
        "https://client.test/callback#part",
        "https://ann:secret@client.test/callback",
        "https://client.test;script-src/callback",
        "https://client.test,evil.test/callback",
        "https://*.client.test/callback",
        "https:///callback",
        "https://client.test/call back",
        "https://clïent.test/callback",
        "http://127.0.0.1.evil.test/callback",
        "//client.test/callback",
        "/callback",
        "",
        f"https://client.test/{'x' * 1000}",
    ],
)
def test_a_redirect_that_could_lead_astray_is_refused(parts: Parts, redirect: str) -> None:
    with pytest.raises(Refused):
        parts.clients.register("One", [redirect], "192.0.2.1")


def test_a_name_is_one_short_line(parts: Parts) -> None:
    client = parts.clients.register("Claude\n\u202eis it\u0000 " + "x" * 500, [REDIRECT], "192.0.2.1")
    assert client.name.startswith("Claude is it xxx")
    assert len(client.name) == 100


ISSUER = "https://id.example.com"


@pytest.fixture
def of_issuer(parts: Parts, records: RecordStore, clock: Clock) -> Callable[[str | None], Parts]:
    """The same store, where people sign in at this issuer."""

    def at(issuer: str | None) -> Parts:
        grants = Grants(records, Keyring(["s" * 40]), parts.keys, clock, issuer=issuer)
        return replace(parts, grants=grants)

    return at


def signed_in(parts: Parts) -> Tokens:
    """The tokens of a client that Ann has allowed after she had signed in at the issuer."""
    code = parts.grants.allow(ASKED, "A client", ANN, SignedInBy(issuer=ISSUER))
    tokens = parts.grants.exchange(code, ASKED.client)
    assert tokens is not None
    return tokens


def test_a_grant_of_a_person_of_the_issuer_needs_no_key(of_issuer: Callable[[str | None], Parts]) -> None:
    parts = of_issuer(ISSUER)
    tokens = signed_in(parts)
    caller = parts.grants.caller_of(tokens.access, [MCP])
    assert caller is not None
    assert caller.owner == ANN
    assert parts.is_good(parts.renewed(tokens))
    [grant] = parts.grants.list()
    assert grant.by == SignedInBy(issuer=ISSUER)


def test_it_ends_after_thirty_days_however_often_it_is_renewed(
    of_issuer: Callable[[str | None], Parts], clock: Clock
) -> None:
    parts = of_issuer(ISSUER)
    tokens = signed_in(parts)
    for _ in range(29):
        clock.now += 24 * 3600
        tokens = parts.renewed(tokens)
    assert parts.is_good(tokens)
    clock.now += 24 * 3600
    assert not parts.is_good(tokens)
    assert parts.grants.renewable(tokens.renews, "client-1") is None
    assert parts.grants.list() == []


@each("issuer", [None, "https://another.example.com"])
def test_it_ends_where_nobody_signs_in_there_any_more(
    of_issuer: Callable[[str | None], Parts], issuer: str | None
) -> None:
    parts = of_issuer(ISSUER)
    tokens = signed_in(parts)
    later = of_issuer(issuer)
    assert not later.is_good(tokens)
    assert later.grants.renewable(tokens.renews, "client-1") is None
