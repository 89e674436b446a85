"""A worker that never gets to the end of a document that says so: a pattern holds its interpreter."""

import re

from loci.documents.content import limited_parser
from loci.documents.content.markdown import ParsedDocument, parse


def _stuck(path: str, content: bytes) -> ParsedDocument:
    if b"never" in content:
        re.fullmatch(r"(a+)+b", "a" * 64)
    return parse(path, content)


if __name__ == "__main__":
    limited_parser.parse = _stuck
    limited_parser.main()
