"""The keys of objects that people send to the bucket: each names its owner."""

from urllib.parse import quote, unquote

from loci.core.errors import Refused
from loci.core.identity import Owner

NO_TENANT = "-"


def owner_prefix(folder: str, owner: Owner) -> str:
    """The first part of the keys of the owner's objects in this folder of the bucket."""
    tenant = quote(owner.tenant, safe="") or NO_TENANT
    tenant = "%2D" if owner.tenant == NO_TENANT else tenant
    return f"{folder}/{tenant}/{quote(owner.subject, safe='')}/"


def owner_and_rest(folder: str, key: str) -> tuple[Owner, str]:
    """The owner that the key names, and the rest of it.

    Refused if `owner_prefix` would write the key in another way: so no two keys are the same object.
    """
    _, tenant, subject, rest = [*key.split("/", 3), "", "", ""][:4]
    try:
        owner = Owner("" if tenant == NO_TENANT else unquote(tenant), unquote(subject))
    except ValueError:
        raise _misplaced(folder, key) from None
    if key != owner_prefix(folder, owner) + rest or not rest:
        raise _misplaced(folder, key)
    return owner, rest


def key_part(name: str) -> str:
    """The name of a file as the end of a key. In the key of a form, S3 puts the sender's own name for ${filename}."""
    return name.replace("%", "%25").replace("$", "%24")


def name_in(key_part: str) -> str:
    """The name of the file with this end of a key."""
    return key_part.replace("%24", "$").replace("%25", "%")


def _misplaced(folder: str, key: str) -> Refused:
    advice = f"Upload it below {folder}/TENANT/SUBJECT/, both names percent-encoded, and - for an empty tenant"
    return Refused(f"{key!r} names no owner", advice, code="BAD_UPLOAD_KEY")
