"""System calls by name: those that are allowed, and those that fail in the way that libraries expect.

Each that is not named is refused, for a reason in `refused_calls`; `judged_calls` has those judged by their arguments.
"""

ALLOWED = """
read write readv writev pread64 pwrite64 preadv pwritev close lseek stat fstat lstat
newfstatat statx statfs fstatfs access faccessat faccessat2 getdents getdents64 getcwd chdir fchdir mkdir mkdirat rmdir
unlink unlinkat rename renameat renameat2 readlink readlinkat ftruncate truncate fsync fdatasync
copy_file_range sendfile umask dup dup2 dup3
mprotect munmap mremap brk msync mbind set_mempolicy get_mempolicy
getpid gettid getppid getuid geteuid getgid getegid getgroups getpgrp getresuid getresgid
sched_yield sched_get_priority_max sched_get_priority_min getrusage times getrlimit sysinfo uname getcpu
exit exit_group wait4 waitid futex futex_waitv set_robust_list set_tid_address rseq membarrier
arch_prctl restart_syscall rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend
sigaltstack pause nanosleep gettimeofday time alarm setitimer getitimer
timerfd_create timerfd_settime timerfd_gettime poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl
epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 pipe pipe2 signalfd4 getrandom
sendto recvfrom shutdown getsockname getsockopt getpeername
""".split()  # noqa: SIM905 (as many quoted names would be a page)
UNSUPPORTED = (
    # Programs that copy files go on if the file system has no such attributes.
    *(f"{link}{call}xattr" for link in ("", "l", "f") for call in ("get", "list", "set", "remove")),
    # It takes gigabytes of a disk before anybody looks. Libraries write zeros instead, which takes its time.
    "fallocate",
)
# Libraries take another way if the kernel says that it does not have these.
ABSENT = ("clone3", "memfd_create", "io_uring_setup", "statmount", "openat2", "mseal", "userfaultfd")
# The first eight can change files that Landlock does not let the process write. They only seem to succeed: a program
# that copies a file also copies its mode and times, and would fail otherwise. The last one is only advice, and could
# tell others something: it puts pages of shared files out of memory.
IGNORED = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utime", "utimes", "utimensat", "futimesat", "fadvise64")
