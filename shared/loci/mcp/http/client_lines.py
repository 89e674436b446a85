"""The lines that connect a client to this server, as `loci serve` and the start page show them."""

import json


def client_lines(base: str, *, needs_key: bool, key: str | None = None) -> dict[str, str]:
    """The text to paste into a client, by the name of the client. `base`: the address that the client reaches.

    `key`: a key that is shown with it.
    """
    url, bearer = f"{base}/mcp", f"Bearer {key or 'YOUR_KEY'}"
    option = f' --header "Authorization: {bearer}"' if needs_key else ""
    headers = {"headers": {"Authorization": bearer}} if needs_key else {}
    return {
        "Claude Code": f"claude mcp add --transport http loci {url}{option}",
        "Other clients": json.dumps({"mcpServers": {"loci": {"type": "http", "url": url, **headers}}}),
    }
