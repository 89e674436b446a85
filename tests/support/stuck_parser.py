"""A worker that never gets to the end of a document that says so: a pattern holds its interpreter."""

import re
import time

from loci.core import worker_process
from loci.documents.content import markdown
from loci.documents.content.markdown import ParsedDocument

parse = markdown.parse


def _stuck(path: str, content: bytes) -> ParsedDocument:
    if b"never" in content:
        re.fullmatch(r"(a+)+b", "a" * 64)
    while b"later" in content:  # as on a machine that gives it no time
        time.sleep(1)
    return parse(path, content)


if __name__ == "__main__":
    markdown.parse = _stuck
    worker_process.answer_calls()
