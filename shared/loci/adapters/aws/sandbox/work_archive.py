"""A work folder as a machine saved it: an archive that is looked into, and never unpacked."""

import io
import tarfile

from loci.adapters.sandbox.run_results import no_file
from loci.sandbox.supervisor.executor_files import MOST_LOOKED_AT


def file_in_archive(content: bytes, name: str, most: int) -> bytes:
    """The file with this name. `NotFound` if there is none, or if it is no plain file or too large.

    The archive comes from the machine that ran the code. It is read in memory, and its paths lead nowhere.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            for number, entry in enumerate(archive):
                if number > 2 * MOST_LOOKED_AT:
                    break
                if entry.name != name:
                    continue
                if not entry.isreg():
                    raise no_file(name, "it is no plain file")
                if entry.size > most:
                    raise no_file(name, f"it has {entry.size:,} bytes; the most is {most:,}")
                opened = archive.extractfile(entry)
                return opened.read(most) if opened else b""
    except (tarfile.TarError, OSError, ValueError, RecursionError) as error:
        raise no_file(name, f"the saved folder is damaged ({type(error).__name__})") from None
    raise no_file(name, "there is none")
