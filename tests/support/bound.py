"""Being bound by the modes of files, also where the tests run as root."""

import ctypes
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest

OVERRIDES = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, by which root passes over modes."""


class Whose(ctypes.Structure):
    """The kernel's `__user_cap_header_struct`, of version 3: this thread's."""

    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class Sets(ctypes.Structure):
    """The kernel's `__user_cap_data_struct`."""

    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


@contextmanager
def bound_by_modes() -> Generator[None]:
    """Inside, this thread reads only what the modes of files allow its user."""
    if not sys.platform.startswith("linux"):
        if os.geteuid() == 0:
            pytest.skip("root reads everything on this system: run this test as another user")
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    whose, sets = Whose(0x20080522, 0), (Sets * 2)()
    _checked(libc.capget(ctypes.byref(whose), sets))
    had = sets[0].effective
    sets[0].effective = had & ~OVERRIDES
    _checked(libc.capset(ctypes.byref(whose), sets))
    try:
        yield
    finally:
        sets[0].effective = had
        _checked(libc.capset(ctypes.byref(whose), sets))


def _checked(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), "The capabilities of this thread")
