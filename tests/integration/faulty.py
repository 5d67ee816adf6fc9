"""The shared page that selects the failing calls of a daemon for rogue/faulty_system.c."""
import contextlib
import ctypes
import mmap
import os
import subprocess

from hobtest import HERE, HOB, Daemon, beside

Byte = ctypes.c_char


class Page(ctypes.Structure):
    _fields_ = [("armed", ctypes.c_uint), ("error", ctypes.c_int), ("first", ctypes.c_uint), ("times", ctypes.c_uint),
                ("seen", ctypes.c_uint), ("failed", ctypes.c_uint), ("kinds", Byte * 128), ("part", Byte * 256),
                ("where", Byte * 512)]


def preloadable(name, folder):
    """The library built from rogue/<name>.c: beside the program in builds with tests, else compiled here."""
    built = beside(f"lib{name}.so")
    if not built.exists():
        built = folder / built.name
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", built, HERE / "rogue" / f"{name}.c"], check=True)
    return built


class Faults:
    """Makes system calls of a daemon fail while the context of fail() is open."""

    def __init__(self, folder):
        self.library = preloadable("faulty_system", folder)
        self.path = folder / "faults"
        self.path.write_bytes(bytes(ctypes.sizeof(Page)))
        with open(self.path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)
        self.page = Page.from_buffer(self.memory)

    def program(self):
        asan = os.environ.get("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=1")
        return ["env", f"LD_PRELOAD={self.library}", f"HOB_TEST_FAULTS={self.path}",
                f"ASAN_OPTIONS={asan}:verify_asan_link_order=0", HOB]

    def arm(self, kinds, error, part="", first=1, times=0):
        page = self.page
        page.armed = 0
        page.error, page.first, page.times, page.seen, page.failed = error, first, times, 0, 0
        page.kinds, page.part, page.where = f" {kinds} ".encode(), str(part).encode(), b""
        page.armed = 1

    def disarm(self):
        """Ends the faults; returns the number of calls that failed."""
        self.page.armed = 0
        return self.page.failed

    @contextlib.contextmanager
    def fail(self, *point, **more):
        self.arm(*point, **more)
        try:
            yield self
        finally:
            self.disarm()

    def serve(self, roots, cache, *options, **more):
        return Daemon(roots, cache, *options, program=self.program(), **more)
