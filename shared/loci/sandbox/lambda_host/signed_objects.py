"""Single objects, by links that were signed for them: nothing else of the bucket can be reached."""

import http.client
import urllib.error
import urllib.request

SECONDS = 60.0


class ObjectError(Exception):
    """It could not be read or written."""


def read(url: str, most: int) -> bytes:
    """The object; `ObjectError` where it is not there, or larger."""
    content = _asked(urllib.request.Request(url), most + 1)  # noqa: S310 (the link is our own)
    if len(content) > most:
        raise ObjectError("it is larger than it may be")
    return content


def write(url: str, content: bytes) -> None:
    """Put it there."""
    headers = {"Content-Type": "application/octet-stream"}
    _asked(urllib.request.Request(url, content, headers, method="PUT"), 1000)  # noqa: S310


def _asked(request: urllib.request.Request, most: int) -> bytes:
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310
            return answer.read(most)
    except urllib.error.HTTPError as error:
        error.close()
        raise ObjectError(f"S3 answers {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        raise ObjectError(f"S3 cannot be reached ({error})") from None
