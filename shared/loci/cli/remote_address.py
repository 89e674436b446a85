"""The address of another server, and the key for it, as commands are given them."""

from urllib.parse import SplitResult, urlsplit

from loci.core.errors import Refused


def endpoint_url(url: str) -> str:
    """The URL of an MCP endpoint: without a path, that of Loci's."""
    parts = _parts(url)
    return url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"


def server_url(url: str, path: str) -> str:
    """The URL of a path for the address of a Loci server, or of its MCP endpoint."""
    parts = _parts(url)
    base, _, _ = f"{parts.path.rstrip('/')}/".partition("/mcp/")
    return f"{parts.scheme}://{parts.netloc}{base.rstrip('/')}/{path}"


def key_header(key: str | None) -> dict[str, str]:
    """The header that shows the key; none without a key."""
    if key and not key.strip().isascii():
        raise Refused("The key has characters that no key has", "Give the whole key, in --key or LOCI_KEY")
    return {"Authorization": f"Bearer {key.strip()}"} if key else {}


def _parts(url: str) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Refused(f"{url!r} is not a URL", "Give the endpoint's URL, such as https://loci.example.com/mcp")
    return parts
