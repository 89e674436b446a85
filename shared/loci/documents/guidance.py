"""What agents are told of documents before the first call: which tool for what, when to search, and when not."""

from typing import Final

DOCUMENTS: Final = """

Documents hold what was learned, decided and solved:
- search_documents: your default for what was learned, how something was solved, related work, and problems that may \
have been met before. Before technical work begins, search unasked: show the user what you found, and offer to review \
it.
- read_node_content: after a search, for the whole of it, for a detail, to check that something is right, to copy a \
solution.
- explore_links: to follow a chain of thought, and to come upon related topics.
- find_gaps: now and then, for upkeep: missing connections, holes in the documentation, a better order.
Do not search where the user wants a fresh approach, in a wholly new domain, for a one-off of less than 5 minutes, or \
while the user experiments. It is yours to decide: weigh what is known against new thinking.
After a session of more than half an hour that solved a problem, suggest a debrief, and offer to help write it."""
