"""Made-up words that a search keeps apart."""


def word_of(number: int) -> str:
    """A word of letters: the letters and the number of `number7` are words of their own, too."""
    return "word" + "".join("bcfhkmpqvx"[int(digit)] for digit in str(number))
