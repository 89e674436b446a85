"""What closeness means with one model: measured on a few questions, their answers, and the answers to the others."""

from collections.abc import Callable, Sequence

from loci.search.embedding_model import Scale
from loci.search.late_interaction import closeness
from loci.search.ranking import Embedding

PAIRS = (
    ("How long do we keep backups?", "Backups are stored for ninety days in another region and then deleted."),
    ("Why did the login page fail in March?", "An expired certificate made sign-in break on the ninth of March."),
    ("What is the capital of Portugal?", "Lisbon, on the Tagus, has been the seat of the Portuguese government."),
    ("When does the museum open on Sundays?", "On Sundays visitors are let into the gallery from ten in the morning."),
    ("Did Anna like her trip to Norway?", "Anna said the fjords were the best holiday that she ever had."),
    ("How much did sales grow last year?", "Revenue rose by eleven percent over the previous twelve months."),
    ("What causes migraines?", "Headaches of this kind are set off by stress, bright light or lack of sleep."),
    ("How are retries limited?", "A failed request is sent again at most three times, with growing pauses."),
)
"""They share few words, so that it is their sense that is measured."""


def measured(
    tokens: Callable[[str], bytes], passages: Callable[[Sequence[str]], list[Embedding]], dimensions: int
) -> Scale:
    """The mean closeness of a question's own answer, and of the others'."""
    bits = [one.bits for one in passages([answer for _, answer in PAIRS])]
    rows = [closeness(tokens(question), dimensions, bits) for question, _ in PAIRS]
    own = sum(row[place] for place, row in enumerate(rows)) / len(PAIRS)
    everything = sum(sum(row) for row in rows)
    return Scale((everything - own * len(PAIRS)) / (len(PAIRS) * (len(PAIRS) - 1)), own)
