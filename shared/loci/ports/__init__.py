"""What Loci needs from outside. Each port has an embedded and an AWS adapter; one contract suite runs on both.

Every stored thing has an owner: it is the first argument, it has no default, and no key, prefix or link
reaches another owner's things.
"""
