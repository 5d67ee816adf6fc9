"""A control group of a scenario, of version 1 or 2: simulates a container's limits."""
import contextlib
import os
import pathlib

from hobtest import until

MOUNTS = pathlib.Path("/sys/fs/cgroup")
NAMES = {1: {"memory": ("memory.limit_in_bytes", "memory.usage_in_bytes", "-1"), "cpu": ("cpu.cfs_quota_us", "-1"), "freezer": ("freezer.state", "FROZEN", "THAWED")},
         2: {"memory": ("memory.max", "memory.current", "max"), "cpu": ("cpu.max", "max"), "freezer": ("cgroup.freeze", "1", "0")}}


class ControlGroup:
    """The constructor creates the group, and raises OSError where that is not allowed; close() removes it."""

    def __init__(self):
        lines = [line.split(":", 2) for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines()]
        name = f"hob-{os.getpid()}"
        own = {controller: path for _, controllers, path in lines for controller in controllers.split(",")}
        self.version = 1 if (MOUNTS / "memory").is_dir() else 2
        self.folders = {}
        try:
            self._make(own, name)
        except OSError:
            self.close()
            raise

    def _make(self, own, name):
        for controller in NAMES[self.version]:
            if self.version == 1:
                folder = MOUNTS / controller / own.get(controller, "/").lstrip("/") / name
            else:  # beside this process's group: one with processes passes no controllers to its children
                folder = (MOUNTS / own.get("", "/").lstrip("/")).parent / name if own.get("", "/") != "/" else MOUNTS / name
            folder.mkdir(exist_ok=self.version == 2)
            self.folders[controller] = folder
            if not (folder / NAMES[self.version][controller][0]).exists():
                raise OSError(f"{folder} has no controller {controller}")

    def close(self):
        with contextlib.suppress(OSError, KeyError):
            self.freeze(False)
        for folder in set(self.folders.values()):
            until(lambda folder=folder: self._is_gone(folder), f"an empty {folder}")

    def _is_gone(self, folder):
        """Tries to remove the group's folder; False while its last processes are still ending."""
        with contextlib.suppress(OSError):
            folder.rmdir()
        return not folder.exists()

    def take(self, pid):
        for folder in set(self.folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def _put(self, controller, text):
        (self.folders[controller] / NAMES[self.version][controller][0]).write_text(text)

    def leave_memory(self, size):
        """Allows this many bytes more than the group uses now, or with None all memory."""
        _, usage, free = NAMES[self.version]["memory"]
        self._put("memory", free if size is None else str(int((self.folders["memory"] / usage).read_text()) + size))

    def leave_processor(self, share):
        """Allows a fraction of one processor, or with None all processors."""
        quota = NAMES[self.version]["cpu"][1] if share is None else str(int(share * 100000))
        self._put("cpu", quota if self.version == 1 else quota + " 100000")

    def freeze(self, still):
        self._put("freezer", NAMES[self.version]["freezer"][1 if still else 2])
