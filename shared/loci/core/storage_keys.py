"""The names of places in the stores, and what each role may reach. The stack and the adapters use the same ones."""

from urllib.parse import quote, unquote

from loci.core.errors import Refused
from loci.core.identity import Owner

# The keys of the DynamoDB table: the stack creates them, and the adapter relies on them.
TABLE_KEYS = ("pk", "sk")
TABLE_EXPIRY = "expires"
RUN_PARTITIONS = "run#"
"""The partitions of rows that are lent to runs of code begin so."""
RUN_ATTRIBUTES = (*TABLE_KEYS, "body")
"""The attributes of those rows that a run may write: not their expiry."""
EVENTS = "events"
"""The kind of records that hold the events of each owner. Every function writes them."""
CALLS = "calls"
"""The kind of records that hold the log of each owner's calls."""
VECTORS = "vectors"
"""The kind of the records beside S3 Vectors."""
INDEX_FILLS = "index_fill"
"""The kind of the records that say whose index is being filled again."""
INGEST_KINDS = (
    *("deleted", "document", "embedded", "file", "file_state", "file_version"),
    *("linked", "refused", "said", "text", "turn"),
    EVENTS,
    INDEX_FILLS,
    VECTORS,
)
"""The kinds of records that the ingestion of uploads uses. Its role reaches no others."""
CONNECT_KINDS = ("listed_tools", "tool_login", "tool_secret", "tool_server", EVENTS)
"""The kinds of records that the function `connect` reads. Its role reaches no others."""
CONNECT_WRITES = ("listed_tools", "tool_login", EVENTS)
"""The kinds of records that it also writes."""
KMS_PURPOSE = "tool servers"
"""The purpose in the encryption context of their secrets. Roles may use the key for no other."""
LANGUAGE_TOKENS = "language_tokens"
"""The kind of records that count the tokens of a language model. The ingestion uses it, too, if there is a model."""
INGEST_BLOBS = ("documents/", "files/", "history/", *(f"records/{kind}/" for kind in INGEST_KINDS))
"""The prefixes of the blobs that it uses, below each owner's key."""
UPLOADS = "uploads"
"""The prefix of uploaded documents in the bucket. The stack sends an event for each change below it."""
UPLOADS_A_CALL = 5
"""The most uploads in one call of the ingestion, which stops before its time ends, and leaves the rest to the next."""
FILES_IN = "files-in"
"""The prefix of files on their way into the lake."""
ARRIVING = "arriving"
"""The prefix of pieces of what another Loci sends. The bucket removes the pieces that were left."""
LEFT_DAYS = 7
"""Days after which the bucket removes them."""
READS = "reads"
"""The folder, below each owner's key, of files that are being read: in the bucket that the function for it reaches."""
UPLOADS_OF_LOCAL = f"{UPLOADS}/-/local/"
"""The prefix of the default owner, to whom `loci keys create` gives a key if no owner is named."""
DAMAGED = ".damaged-"
"""The part of the name of a database that was kept because some of its records could not be read."""


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
    """The path of a file as the end of a key. In the key of a form, S3 puts the sender's own name for ${filename}."""
    return name.replace("%", "%25").replace("$", "%24")


def name_in(key_part: str) -> str:
    """The path of the file with this end of a key."""
    return key_part.replace("%24", "$").replace("%25", "%")


def _misplaced(folder: str, key: str) -> Refused:
    advice = f"Upload it below {folder}/TENANT/SUBJECT/, both names percent-encoded, and - for an empty tenant"
    return Refused(f"{key!r} names no owner", advice, code="BAD_UPLOAD_KEY")
