"""Texts that make a careless reader slow: something that opens and never closes, again and again."""

from collections.abc import Iterator, Sequence

from tests.unit.linear.growth import Shape

# A space is \s.
WRITTEN = """
    <!-- --> [[ ]] [[a| [a](b) [a](b [ ] ]( ( ) ` ``` * _ **a a* a_ ~~ < <a <a\\sb=" & &# ! ![ ![]( | |- - -- :
    :- = # #a #a- @ / // . .. ... , ; ' " ? 1 19 2026 2026- 2026-01-01 jan 1\\s a A aB a1 1a é 好 a. a.b. a-b a'b
    \\\\ \\t \\n \\s \\s\\n \\n\\s a\\n a\\s a:\\s a:\\sb\\n #\\sa\\n -\\sa\\n >\\sa\\n >\\s -\\s 1.\\s
    [a]:\\sb\\n [a:\\sb] [a:\\s [follows:\\sa]\\s [[a]]\\s [a](b)\\s [a](b\\s"\\s [a](<b\\s |a|\\n |-|\\n ```\\n
    <!--\\n <div>\\n Ann:\\sx\\n <? <! <![CDATA[ </a> <http: <a@ jan\\s1\\s 1\\sjan\\s 1\\sjan a̱ ̱ क ा 🙂 { } {{
    }} deno\\s https:// :// %41 % WebAssembly openai. loci_ executor- how\\s brief implements\\s of since\\s ..
    `a` ``a` tags:\\s <!--tags:a-->
"""
TOKENS = tuple(WRITTEN.split())
AROUND = (("", ""), ("a", "a"), ("(", ""), (" ", "]"))
HEADS = ("", "# x\n\n", "# ", "# x\n\n<!-- tags: [a:", "---\na: ", "[a]: b\n\n[a](b) ")
TAILS = ("", "]](a)-->`>)\n")


def _spaced(token: str) -> str:
    for written, meant in (("\\s", " "), ("\\n", "\n"), ("\\t", "\t"), ("\\\\", "\\")):
        token = token.replace(written, meant)
    return token


def repeated(head: str, token: str, tail: str) -> Shape:
    """The token again and again, between a beginning and an end."""
    return lambda size: head + token * (size // len(token)) + tail


def simple_shapes(around: Sequence[tuple[str, str]] = AROUND) -> Iterator[tuple[str, Shape]]:
    """Each token again and again, with its name; also between other characters."""
    for token in map(_spaced, TOKENS):
        for head, tail in around:
            yield f"{head!r} {token!r} {tail!r}", repeated(head, token, tail)


def document_shapes() -> Iterator[tuple[str, Shape]]:
    """The same in the places of a document where readers differ."""
    for token in map(_spaced, TOKENS):
        for head in HEADS:
            for tail in TAILS:
                yield f"{head!r} {token!r} {tail!r}", repeated(head, token, tail)
    for name, (head, token, tail) in KNOWN.items():
        yield name, repeated(head, token, tail)


KNOWN = {
    "a relation of spaces in a comment": ("# X\n\n<!-- tags: [a:", " ", "-->"),
    "comments that never close": ("", "<!--", ""),
    "a table rule of spaces": ("a|b\n", " ", "x|\n"),
    "a heading of underscores": ("# x", "_", "x"),
    "a heading of links that never close": ("# ", "[[a|", ""),
    "many links on one line": ("# x\n\n", "[[a]] and [b](c.md) ", ""),
    "a key of many parts in TOML": ("+++\n", "a.", "a = 1\n+++\n"),
}
"""The ones that have stopped a server."""


def log(size: int) -> str:
    """A log of about this size in characters, with different lines."""
    return "".join(f"2026-01-17 12:{at % 60:02} INFO id={at:x} took {at % 977} ms\n" for at in range(size // 36))


LARGE: dict[str, Shape] = {
    "a log": log,
    "one line": repeated("", "some words and ", ""),
    "one word": repeated("", "a", ""),
    "blank lines": repeated("a", "\n", "b"),
    "headings": repeated("", "# A heading\n", ""),
    "headings below each other": repeated("", "# a\n## b\n### c\n", ""),
    "a table": repeated("| a | b |\n|---|---|\n", "| a cell | 333 |\n", ""),
    "code that never ends": repeated("# x\n\n```\n", "some code\n", ""),
    "carriage returns": repeated("", "a line\r", ""),
    "links": repeated("", "[[A name]] and [b](c.md)\n", ""),
    "hashes": repeated("", "#", ""),
    "quotation marks": repeated("", 'a,"b\n', ""),
}
"""What is ordinary in files, but for its size."""
