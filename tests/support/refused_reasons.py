"""System calls that are refused, each with its reason; docs/code.md links here. The filter itself refuses the rest."""

REFUSED = {
    "shows which pages of shared files others have read": "mincore",
    "others would see the lock": "flock",
    "makes buffers of any size, in memory that no limit counts": "setsockopt",
    "a file on its way in a socket is held by nobody's descriptor": "sendmsg recvmsg sendmmsg recvmmsg",
    "tells if a process id is in use": """
        get_robust_list kcmp pidfd_open sched_getattr sched_rr_get_interval ioprio_get
    """,
    "there is no network, and no socket of the machine": "socket connect accept accept4 bind listen",
    "starts a process": "fork vfork",
    "starts a program (Deno may start its own, once)": "execve execveat uselib",
    "signals another process": "tkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal",
    "reads or changes another process, or the group and session that it belongs to": """
        ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd setpgid setsid
        migrate_pages move_pages
    """,
    "memory, messages and queues that no limit counts, and that others reach": """
        shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl
        mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr memfd_secret
    """,
    "fills pipes with pages that no limit counts": "splice tee vmsplice",
    "keeps memory that others could use, or makes mappings that no limit counts": """
        mlock mlock2 munlock mlockall munlockall remap_file_pages set_mempolicy_home_node
    """,
    "takes processors or the disk from others": """
        setpriority sched_setparam sched_setscheduler sched_setattr ioprio_set sync syncfs sync_file_range readahead
    """,
    "tells what the system keeps in memory of shared files": "preadv2 pwritev2",
    "makes a name that leads to another file, or to a device": "link linkat symlink symlinkat mknod mknodat",
    "changes whose file it is": "chown fchown fchownat lchown",
    "opens files by their numbers, past all folders": "name_to_handle_at open_by_handle_at",
    "tells what others do with files": """
        inotify_init inotify_init1 inotify_add_watch inotify_rm_watch fanotify_init fanotify_mark
    """,
    "changes who the process is, and what it may do": """
        setuid setgid setreuid setregid setgroups setresuid setresgid setfsuid setfsgid capget capset
        personality setrlimit
    """,
    "changes what is mounted, or makes namespaces": """
        mount umount2 pivot_root chroot unshare setns open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
        quotactl quotactl_fd swapon swapoff
    """,
    "changes the machine: its clock, name, ports, modules, log, or what it runs": """
        settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname iopl ioperm reboot acct syslog
        create_module init_module finit_module delete_module kexec_load kexec_file_load vhangup _sysctl
    """,
    "a way into the kernel that the packages do not take": """
        bpf perf_event_open keyctl add_key request_key io_uring_enter io_uring_register io_setup io_destroy io_getevents
        io_pgetevents io_submit io_cancel modify_ldt set_thread_area get_thread_area pkey_mprotect pkey_alloc pkey_free
        seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self
        timer_create timer_settime timer_gettime timer_getoverrun timer_delete
    """,
    "old, or another call does the same": """
        creat signalfd epoll_ctl_old epoll_wait_old ustat sysfs lookup_dcookie nfsservctl get_kernel_syms query_module
        getpmsg putpmsg afs_syscall tuxcall security vserver arch_specific_syscall
    """,
}
"""The calls by the reason why they are refused. Those judged by their arguments are in `judged_calls`."""
