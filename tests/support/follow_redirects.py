"""A browser for tests, as `BROWSER` names it: `python follow_redirects.py FILE URL` writes the last page to FILE."""

import sys
import urllib.error
import urllib.request
from pathlib import Path


def main() -> None:
    file, url = sys.argv[1:]
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            page = answer.read().decode()
    except urllib.error.HTTPError as error:
        page = error.read().decode()
    Path(file).write_text(page, "utf-8")


if __name__ == "__main__":
    main()
