"""How much of a tool server Loci bears."""

LARGEST_ANSWER = 10_000_000
"""The largest message of a server, in bytes."""
MOST_TOOLS = 5000
LARGEST_LIST = 10_000_000
"""The characters of all its tools, as JSON: they are kept, and read at each search."""
LIST_SECONDS = 60.0
"""The time for all pages of them, however long a call may take."""
BURST, A_SECOND = 10_000, 500
"""The messages that a server may send at once, and in the long run in a second. With more it floods Loci."""
OPEN_SECONDS = 60.0
"""The time to connect: npx may have to download the server first."""
IDLE_SECONDS = 300.0
"""How long a connection without calls is kept."""
