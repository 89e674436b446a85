"""Notes about two things, a ferry and an oven, that are alike and partly linked."""

FERRY = "The ferry leaves the harbour at dawn when the captain rings the bell. "
OVEN = "The baker heats the oven with beech and kneads the dough by hand. "
NOTES = {
    "briefs/2026-01-10-timetable.md": f"---\ntags: [ferry]\n---\n# A new timetable\n\n{FERRY * 3}Later is better.\n",
    "debriefs/2026-02-03-timetable.md": f"# The timetable\n\n#ferry\n\n{FERRY * 3}See [[harbour]]. Later was worse.\n",
    "harbour.md": f"---\ntags: [ferry, map]\n---\n# Harbour\n\n{FERRY * 2}Tickets are sold on the pier.\n",
    "bread.md": f"---\ntags: [oven]\n---\n# Bread\n\n{OVEN * 3}Flour, water and salt.\n",
    "rolls.md": f"# Rolls\n\n{OVEN * 3}They are small, and done in a quarter of an hour.\n",
    "moon.md": "# Moon\n\nIt circles far above, silent and grey.\n",
}
BRIEF, DEBRIEF = "notes-briefs-2026-01-10-timetable", "notes-debriefs-2026-02-03-timetable"
HARBOUR, BREAD, ROLLS, MOON = "notes-harbour", "notes-bread", "notes-rolls", "notes-moon"
