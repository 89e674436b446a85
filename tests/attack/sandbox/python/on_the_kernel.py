"""Attacks on the kernel, and on what the machine has enough of. Each prints ESCAPE if it works."""

PRIVILEGES = {
    "become root, or be it": """
try:
    os.setuid(0)
    if os.getuid() == 0 and "CapEff:\\t0000000000000000" not in open("/proc/self/status").read(): esc("root")
except OSError as e: print(e)
""",
    "run a shell": """
import subprocess
try: esc(subprocess.run(["/bin/sh", "-c", "id"], capture_output=True, timeout=5).stdout)
except Exception as e: print(type(e).__name__, e)
""",
    "run a program of its own from memory": """
fd, e = raw("memfd_create", b"x", 0)
if fd >= 0:
    os.write(fd, b"#!/bin/sh\\necho ESCAPE memfd\\n")
    try: os.execve(fd, ["x"], {})
    except OSError as e: print(e)
open("x.sh", "w").write("#!/bin/sh\\necho ESCAPE file\\n")
try: os.execve("x.sh", ["x"], {})
except OSError as e: print(e)
""",
    "map a file of its own to be executed": """
open("code.bin", "wb").write(b"\\xc3" * 4096)
with open("code.bin", "rb") as f:
    try: mmap.mmap(f.fileno(), 4096, prot=5)
    except OSError as e: print(e)
    # It runs nothing that it could not put into its own memory; what counts is that the system's calls stay shut.
if raw("execve", b"/bin/sh", 0, 0)[0] == 0: esc("exec")
""",
    "a user namespace of its own": """
n, e = raw("unshare", 0x10000000)
if n == 0: esc("userns")
n, e = raw("clone", 0x10000000 | 17, 0, 0, 0, 0)
if n >= 0: esc("clone")
n, e = raw("clone3", 0, 0)
if not blocked(n, e): esc("clone3")
""",
    "mount, pivot_root, chroot, setns": """
for name, given in (("mount", (b"none", b"/tmp", b"tmpfs", 0, 0)), ("chroot", (b"/tmp",)), ("setns", (0, 0))):
    n, e = raw(name, *given)
    if n == 0: esc(name)
""",
    "calls that few programs make": """
names = '''io_uring_setup bpf perf_event_open userfaultfd keyctl add_key kexec_load init_module finit_module
open_by_handle_at name_to_handle_at quotactl acct swapon reboot syslog kcmp move_pages fanotify_init personality
process_madvise pidfd_open fsopen open_tree landlock_restrict_self shmget msgget semget mq_open vmsplice lookup_dcookie
sethostname iopl inotify_init1 timer_create rt_sigqueueinfo rt_tgsigqueueinfo setpriority ioprio_set setrlimit
process_mrelease mount_setattr cachestat'''.split()
bad = [name for name in names if name in NR and not blocked(*raw(name, 0, 0, 0, 0, 0, 0))]
if bad: esc(bad)
""",
    "calls of 32-bit programs": """
if os.uname().machine == "x86_64":
    m = mmap.mmap(-1, 4096, flags=34, prot=7); m.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")
    if ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))() > 0: esc("int 0x80")
""",
    "calls of the x32 convention": """
if os.uname().machine == "x86_64" and libc.syscall(ctypes.c_long(0x40000000 + 39)) > 0: esc("x32")
""",
    "put text into a terminal, and other controls": """
import fcntl
for request in (0x5412, 0x5424, 0x8927, 0x5452):
    try: fcntl.ioctl(1, request, b"x" * 40); esc(hex(request))
    except OSError as e: print(e)
""",
    "raise its own limits": """
import resource
for kind in (resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
    try: resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)); esc(kind)
    except (ValueError, OSError) as e: print(e)
""",
    "let others look into it, or get privileges again": """
if libc.prctl(4, 1, 0, 0, 0) == 0: esc("dumpable")
if libc.prctl(1, 0, 0, 0, 0) == 0: esc("outlives its parent")
""",
}

EXHAUSTION = {
    "a fork bomb": """
n = 0
try:
    for i in range(400):
        if os.fork() == 0: time.sleep(20); os._exit(0)
        n += 1
except OSError as e: print(e)
if n: esc(n)
""",
    "a thread bomb": """
n = 0; ended = threading.Event(); threading.stack_size(65536)
try:
    for i in range(4000): threading.Thread(target=ended.wait, daemon=True).start(); n += 1
except RuntimeError as e: print(e)
ended.set()
if n > 1500: esc(n)
""",
    "more memory than there is": """
a = []
try:
    for i in range(40): a.append(b"x" * (100 << 20))
    esc("4 GB")
except MemoryError: a = None
""",
    "more shared memory than there is": """
a = []
try:
    for i in range(40): m = mmap.mmap(-1, 100 << 20); m.write(b"x" * (100 << 20)); a.append(m)
    esc("4 GB")
except (MemoryError, OSError) as e: print(e)
""",
    "a full disk": """
n = 0
try:
    for i in range(12):
        with open(f"f{i}", "wb") as f:
            for _ in range(100): f.write(b"x" * (1 << 20)); n += 1
except OSError as e: print(e)
time.sleep(0.6)
if n >= 1200: esc(f"{n} MB")
""",
    "a full disk below folders too deep to look into": """
for i in range(3000): os.mkdir("d" * 20); os.chdir("d" * 20)
for i in range(12): open(f"f{i}", "wb").write(b"x" * (60 << 20))
time.sleep(0.6); esc("hidden")
""",
    "no more inodes": """
for i in range(100_000): open(f"i{i}", "w").close()
esc("100,000 files")
""",
    "a loop that hears no signal": """
for s in (2, 15, 14, 1): signal.signal(s, signal.SIG_IGN)
while True: pass
""",
    "a loop in C": "import itertools; 1 in itertools.repeat(2)",
    "a loop that swallows every error": """
while True:
    try:
        while True: time.sleep(0.001)
    except BaseException: pass
""",
    "a process that stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "much output": "for i in range(200): os.write(1, b'y' * (1 << 20))",
    "a thread that goes on after the run": """
def spin():
    while True: time.sleep(0.005)
threading.Thread(target=spin, daemon=True).start()
""",
    "a child that survives": """
try:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: time.sleep(60)
        os._exit(0)
    esc("a daemon")
except OSError as e: print(e)
""",
    "a value that takes for ever to be shown": """
class Slow:
    def __repr__(self):
        while True: pass
Slow()
""",
    "an error that takes for ever to be shown": """
class Slow(Exception):
    def __str__(self):
        while True: pass
raise Slow
""",
}
