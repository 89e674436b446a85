"""Prompts for work with documents, from the practice of people who keep such libraries."""

from typing import Final

from loci.mcp.resources import Argument, PromptTemplate

PROMPTS: Final = (
    PromptTemplate(
        "session_start",
        "Start a session",
        "Learn what is known before you begin",
        Argument("topic", "what the session is about"),
        "We begin to work on this: {given}",
        (
            'Call search_documents(query="… lessons learned", limit=5), its words in place of the dots. Nothing found '
            "is an answer, too: then it is new.",
            "Review what was found, and apply it to the task; read_node_content(id=…) gives the whole of it.",
            "Call suggest_reading(context=…) for what else to read, in which order.",
            'Follow explore_links(id=…, direction="both") from the best two: is there a brief, a debrief, a playbook?',
            "Look at scratchpad_list() for results of earlier work.",
            "Tell me in a few lines what is known, what was decided and why, and what is open. Name the documents.",
        ),
    ),
    PromptTemplate(
        "problem_solving",
        "Solve a problem",
        "Look for what solved it before, then solve it",
        Argument("problem", "what goes wrong, with the error's text if there is one"),
        "Help me with this problem: {given}",
        (
            'Call search_documents(query="<kind of error> <where it happens> solutions", limit=3), then once more with '
            "the problem's own words.",
            "Read the passages that fit with read_node_content(id=…, heading=…), and what explore_links(id=…) gives.",
            "Say which past solution fits, and where this case differs. Cite ids and lines.",
            "Try the proven solution first. Else propose one, the least change first, and how we will know that it "
            "works.",
        ),
    ),
    PromptTemplate(
        "discovery",
        "Discover a topic",
        "See what there is about a topic, and how it hangs together",
        Argument("topic", "a topic, or a tag"),
        "Show me what we have about this: {given}",
        (
            "Call search_documents(query=…), and query_by_tags(tags=[…]) with the tags that fit.",
            "Call graph_neighbors(id=…, depth=2) from the best result: what lies around it?",
            "Call cluster_documents(): which groups does the topic belong to, and which are beside it?",
            "Draw a map of it in words: the main documents, how they are linked, and where to begin to read.",
        ),
    ),
    PromptTemplate(
        "debrief",
        "Write a debrief",
        "Write down what was learned: after a problem that was not trivial, a surprise, a pattern that helped, a dead "
        "end worth knowing, or a session of more than half an hour that solved something",
        Argument("topic", "the work that is done, or its brief"),
        "Write a debrief of this: {given}",
        (
            "Find its brief with search_documents(query=…) and read it with read_node_content(id=…).",
            "Write markdown: front matter with `date`, `tags` and `follows: <the brief>`; then what was planned, what "
            "was done, what went well, what did not, what we learned, what is open. Ask me for what you do not know.",
            "Keep it with write_document(…), beside the other debriefs: list_directory_structure() shows where.",
            'Call find_gaps(threshold=0.7) and explore_links(id=…, relation="similar"): what should it link to?',
        ),
    ),
    PromptTemplate(
        "session_end",
        "End a session",
        "See whether the session is worth a debrief, before it is over",
        Argument("topic", "what the session was about"),
        "We end our work on this: {given}",
        (
            "Did it last more than 1800 seconds (half an hour), and solve a problem? If not, say so, and stop.",
            "Else suggest a debrief to me: say in a few lines what it would hold, and offer to help write it.",
            "If I agree, see what is there with search_documents(query=…), draft it with me, and keep it with "
            "write_document(…), beside the other debriefs.",
        ),
    ),
    PromptTemplate(
        "playbook",
        "Write a playbook",
        "Make a playbook of what worked again and again: a pattern met for the third time, a decision of the team with "
        "its reasons, a mistake to avoid, a practice that has settled",
        Argument("topic", "what the playbook is for"),
        "Write a playbook for this: {given}",
        (
            "Call search_documents(query=…) for debriefs, incidents and decisions about it; read them with "
            "read_node_content(id=…).",
            "Look for a playbook that is there already: if there is one, improve it instead.",
            "Write markdown: front matter with `date`, `tags` and `implements: <the decision>`; when to use it, what "
            "is needed, numbered steps, how to check each, what to do when one fails. Link each lesson to its source.",
            "Keep it with write_document(…), beside the other playbooks: list_directory_structure() shows where.",
        ),
    ),
    PromptTemplate(
        "gap_analysis",
        "Find gaps",
        "Find what is missing: links, documents, and what was written twice",
        Argument("topic", "a topic, or a tag; without it all documents", required=False),
        "Find what is missing in our documents about this: {given}",
        (
            "Call find_gaps(limit=20, threshold=0.75); keep what is about the topic. Lower the threshold if there is "
            "little.",
            "Call cluster_documents(): what is in no cluster, and which group has no brief, debrief or playbook?",
            "Call search_documents(query=…), and explore_links(id=…, unresolved=true) for the best: what do they "
            "mention that is not there?",
            "List for me: links to make (with their type and reason), documents to write, documents to merge. Change "
            "nothing before I agree.",
        ),
    ),
    PromptTemplate(
        "research",
        "Research a question",
        "Answer a question from the documents, with sources",
        Argument("question", "what you want to know"),
        "Answer this from our documents: {given}",
        (
            "Split it into questions that one document could answer, and call search_documents(query=…) for each.",
            "Where time matters, use temporal_search(query=…, date_range=…): newer documents may overrule older ones.",
            "Read what fits with read_node_content(id=…, heading=…); follow explore_links(id=…) to its sources.",
            "Answer first, then the evidence: each claim with id and lines. Say where documents contradict each other, "
            "and what they do not say. Do not fill in from elsewhere without saying so.",
        ),
    ),
)
