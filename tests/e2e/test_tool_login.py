"""`loci tools login` and `logout`, with a browser that follows redirects."""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support import follow_redirects
from tests.support.at_terminal import at_terminal
from tests.support.authorization_server import METADATA, Protected, consent, protected
from tests.support.forms import form_token
from tests.support.polling import until
from tests.support.serving import LOCI, clean_environment, loci, serving

NO_BROWSER = "true"
PIN = "hedgehog 7"


@pytest.fixture
def server() -> Iterator[Protected]:
    with protected() as made:
        yield made


@pytest.fixture
def browser(tmp_path: Path) -> str:
    return f"{sys.executable} {follow_redirects.__file__} {tmp_path / 'page.html'} %s"


@pytest.fixture
def far(data: Path, server: Protected) -> Protected:
    """The server, configured as `far`."""
    added = loci(data, "tools", "add", "far", server.url)
    assert added.returncode == 1
    assert "Log in with: loci tools login far" in added.stdout
    return server


@contextmanager
def logging_in(data: Path, *arguments: str) -> Generator[tuple[subprocess.Popen[str], str]]:
    """A login that waits for its answer, and the address that it printed."""
    process = subprocess.Popen(
        [*LOCI, "tools", "login", "far", *arguments],
        env=clean_environment(data, BROWSER=NO_BROWSER),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        url = next((line for line in process.stderr if line.startswith("http")), "")
        yield process, url.strip()
    finally:
        process.kill()
        process.communicate()


def get(url: str, host: str | None = None) -> tuple[int, str]:
    request = urllib.request.Request(url, headers={"Host": host} if host else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_person_logs_in_with_a_browser(data: Path, tmp_path: Path, far: Protected, browser: str) -> None:
    done = loci(data, "tools", "login", "far", BROWSER=browser)
    assert done.returncode == 0, done.stderr
    assert "1 tool: whoami" in done.stdout
    assert f"logged in at {far.issuer}, renewed by itself" in done.stdout
    assert f"\n{far.issuer}/authorize?" in done.stderr
    assert "You can close this page and go back to the terminal" in (tmp_path / "page.html").read_text("utf-8")
    assert json.loads(loci(data, "call", "far:whoami", "{}").stdout) == {"result": "ann with read"}


def test_a_person_logs_in_on_the_page_of_tools(data: Path, far: Protected) -> None:
    assert at_terminal([*LOCI, "pin"], clean_environment(data), PIN, PIN)[0] == 0
    with serving(data) as own:
        token = form_token(get(f"{own.url}/ui/tools")[1])

        def asked(pin: str) -> tuple[int, dict[str, Any]]:
            body = json.dumps({"server": "far", "value": pin}).encode()
            request = urllib.request.Request(f"{own.url}/ui/tools/login", body, {"X-Loci-Form": token})
            try:
                with urllib.request.urlopen(request, timeout=60) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as error:
                with error:
                    return error.code, json.load(error)

        assert asked("")[1]["error"]["code"] == "PIN_NEEDED"
        status, begun = asked(PIN)
        assert (status, begun["open"].startswith(f"{far.issuer}/authorize?")) == (200, True)
        assert "You can close this page" in get(consent(begun["open"]))[1]
        called = until(lambda: json.loads(loci(data, "call", "far:whoami", "{}").stdout or "{}"))
    assert called == {"result": "ann with read"}


def test_nothing_that_is_printed_or_stored_holds_a_token(data: Path, far: Protected, browser: str) -> None:
    said = [
        loci(data, "tools", "login", "far", BROWSER=browser),
        loci(data, "tools", "list", "--json"),
        loci(data, "call", "far:whoami", "{}"),
        loci(data, "doctor"),
    ]
    printed = "".join(one.stdout + one.stderr for one in said)
    stored = b"".join(file.read_bytes() for file in data.rglob("*") if file.is_file())
    [client] = far.tokens.clients.values()
    for secret in (*far.tokens.access, *far.tokens.refresh, client.client_secret or ""):
        assert len(secret) > 20
        assert secret not in printed
        assert secret.encode() not in stored


def test_the_list_and_the_doctor_tell_of_a_login(data: Path, far: Protected, browser: str) -> None:
    assert loci(data, "tools", "login", "far", "--json", BROWSER=browser).returncode == 0
    [listed] = json.loads(loci(data, "tools", "list", "--json").stdout)["servers"]
    told = {name: listed["login"][name] for name in ("issuer", "scope", "renews", "needed")}
    assert told == {"issuer": far.issuer, "scope": "read", "renews": True, "needed": False}
    assert re.search(r"ok +tool servers +1 server with 1 tool", loci(data, "doctor").stdout)
    far.tokens.access.clear()
    far.tokens.refresh.clear()
    assert loci(data, "tools", "test").returncode == 1
    assert "login needed: loci tools login far" in loci(data, "tools", "list").stdout
    assert "The login to far has ended" in loci(data, "doctor").stdout


def test_without_a_browser_the_address_is_pasted(data: Path, far: Protected) -> None:
    with logging_in(data, "--no-browser") as (process, url):
        said, errors = process.communicate(consent(url) + "\n", timeout=60)
    assert process.returncode == 0, errors
    assert "whoami" in said


def test_an_address_of_another_login_is_refused(data: Path, far: Protected) -> None:
    with logging_in(data, "--no-browser") as (process, url):
        _, errors = process.communicate(re.sub("state=[^&]+", "state=other", consent(url)) + "\n", timeout=60)
    assert (process.returncode, "The answer belongs to another login" in errors) == (1, True)


def test_a_foreign_page_cannot_answer(data: Path, far: Protected) -> None:
    with logging_in(data) as (process, url):
        answer = consent(url)
        page = answer.partition("?")[0]
        assert get(f"{page}?code=evil&state=guessed")[0] == 400
        assert get(f"{page}?error=access_denied")[0] == 400
        assert get(answer, host="evil.example")[0] == 404
        assert get(answer.replace("/callback", "/other"))[0] == 404
        status, said = get(answer)
        assert (status, "go back to the terminal" in said) == (200, True)
        process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_refusal_is_told(data: Path, far: Protected, browser: str, tmp_path: Path) -> None:
    far.tokens.denies = True
    done = loci(data, "tools", "login", "far", BROWSER=browser)
    assert (done.returncode, "did not log in: 'access_denied'" in done.stderr) == (1, True)
    assert "was not granted" in (tmp_path / "page.html").read_text("utf-8")


def test_an_answer_of_another_issuer_is_refused(data: Path, far: Protected, browser: str) -> None:
    far.tokens.iss = "https://evil.example"
    done = loci(data, "tools", "login", "far", BROWSER=browser)
    assert (done.returncode, f"iss mismatch: https://evil.example != {far.issuer}" in done.stderr) == (1, True)
    assert far.forms == []


def test_an_app_that_was_registered_by_hand_is_used(data: Path, far: Protected) -> None:
    far.wrong[METADATA] = {"registration_endpoint": None}
    refused = loci(data, "tools", "login", "far", BROWSER=NO_BROWSER)
    assert (refused.returncode, "--client-id" in refused.stderr) == (1, True)
    port = far.spare_port()
    far.register("app-1", "its s3cret", f"http://127.0.0.1:{port}/callback")
    process = subprocess.Popen(
        [*LOCI, "tools", "login", "far", "--client-id", "app-1", "--port", str(port)],
        env=clean_environment(data, BROWSER=f"{sys.executable} {follow_redirects.__file__} /dev/null %s"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said, errors = process.communicate("its s3cret\n", timeout=60)
    assert process.returncode == 0, errors
    assert "whoami" in said
    assert "its s3cret" not in said + errors


def test_logging_out_forgets_and_revokes(data: Path, far: Protected, browser: str) -> None:
    loci(data, "tools", "login", "far", BROWSER=browser)
    assert loci(data, "tools", "logout", "far").stdout == "Logged out of far.\n"
    assert (far.tokens.access, far.tokens.refresh) == ({}, {})
    again = loci(data, "tools", "logout", "far")
    assert (again.returncode, "There is no login to 'far'" in again.stderr) == (1, True)


def test_a_server_with_its_own_header_has_no_login(data: Path, server: Protected) -> None:
    loci(data, "tools", "add", "far", server.url, "--header", "Authorization: Bearer x")
    refused = loci(data, "tools", "login", "far", BROWSER=NO_BROWSER)
    assert (refused.returncode, "Authorization header of its own" in refused.stderr) == (1, True)


def test_client_credentials_are_added_with_a_hidden_secret(data: Path, server: Protected) -> None:
    server.machines["bot"] = "its s3cret"
    process = subprocess.Popen(
        [*LOCI, "tools", "add", "far", server.url, "--client-id", "bot", "--issuer", server.issuer],
        env=clean_environment(data),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    said, errors = process.communicate("its s3cret\n", timeout=60)
    assert process.returncode == 0, said + errors
    assert "1 tool: whoami" in said
    assert "its s3cret" not in said + errors + loci(data, "tools", "list", "--json").stdout
