"""What lies on another machine: of what is written there this one is told nothing."""

from pathlib import Path

MOUNTS = Path("/proc/self/mountinfo")
REMOTE = frozenset(
    {"9p", "afs", "ceph", "cifs", "fuse.s3fs", "fuse.rclone", "fuse.sshfs", "glusterfs", "nfs", "nfs4"}
    | {"prl_fs", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)


def remote_kind(folder: str, mounts: Path = MOUNTS) -> str | None:
    """The kind of file system, where the folder's is one of another machine; None where it is not, or nobody knows."""
    try:
        lines = mounts.read_text("utf-8", "surrogateescape").splitlines()
    except OSError:  # not Linux
        return None
    kinds = dict(_point_and_kind(line) for line in lines)
    for above in (folder, *map(str, Path(folder).parents)):
        if above in kinds:
            return kinds[above] if kinds[above] in REMOTE else None
    return None


def _point_and_kind(line: str) -> tuple[str, str]:
    before, _, after = line.partition(" - ")
    point = before.split(" ")[4]
    for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(code, letter)
    return point, after.split(" ")[0]
