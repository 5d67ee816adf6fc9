"""trace.py BUILD [--list] [--check]: functions of the daemon entered by one save of a two-triangle OBJ and by one GET by name.

An instrumented build records every entered function, on every thread. Of several saves, and of several GETs, the one with the
fewest functions counts: the others include timers. Prints for each: distinct functions, calls, files, and changes of folder,
that is the functions which, in the order of first entry on a thread, are in another source folder than the previous one.
--list prints the functions, --check exits 1 when a save takes more than 250 functions or 60 changes of folder."""
import http.client
import json
import mmap
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import threading

ENTRIES = 1 << 20
FUNCTIONS_MOST, CHANGES_MOST = 250, 60
ROUNDS = 9


def symbols(program):
    """Address -> (function, file below server or core), from the program's line table."""
    listed = subprocess.run(["nm", "--defined-only", "-l", program], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in listed.splitlines():
        match = re.match(r"([0-9a-f]+) [tT] (\S+)\s+(\S+):\d+$", line)
        if match:
            place = re.search(r"(?:^|/)((?:server|core)/.*)", match.group(3))
            if place:
                # A header's path includes that of its includer: server/view/../../core/base/base.h.
                found[int(match.group(1), 16)] = (match.group(2), os.path.normpath(place.group(1)))
    return found


class Traced:
    def __init__(self, build, folder):
        self.art = folder / "art"
        self.art.mkdir()
        (self.art / "a.obj").write_text(triangles(0))
        path = folder / "trace"
        path.write_bytes(b"")
        os.truncate(path, 16 + 16 * ENTRIES)
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 0)
        self.program = build / "hob"
        environment = {**os.environ, "HOB_TRACE": str(path), "LD_PRELOAD": str(build / "trace_hooks.so")}
        self.process = subprocess.Popen(
            [self.program, "serve", self.art, "--listen", "127.0.0.1:0", "--cache", folder / "cache", "--jobs", "1"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, text=True)
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
            if found:
                self.port = int(found.group(1))
                break
        threading.Thread(target=self.process.stdout.read, daemon=True).start()
        maps = pathlib.Path(f"/proc/{self.process.pid}/maps").read_text().splitlines()
        self.base = min(int(line.split("-")[0], 16) for line in maps if line.endswith(str(self.program)))

    def ask(self, method, target, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, target, body=body, headers={"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.status < 300, (method, target, answer.status, content)
        return content

    def sync(self):
        self.ask("POST", "/api/v1/sync", json.dumps({"timeout_ms": 60000}))

    def record(self, action):
        """Entries of (thread, address) while `action` runs."""
        self.map[8:16] = bytes(8)
        self.map[0:8] = struct.pack("<Q", 1)
        action()
        self.map[0:8] = bytes(8)
        count = min(struct.unpack("<Q", self.map[8:16])[0], ENTRIES)
        entries = struct.iter_unpack("<QQ", self.map[16:16 + 16 * count])
        return [(thread, address - self.base) for thread, address in entries]


def triangles(height):
    return f"v 0 0 0\nv 1 0 0\nv 1 1 {height}\nv 0 1 {height}\nf 1 2 3\nf 1 3 4\n"


def summary(entries, known):
    functions, files, calls, changes, last = set(), set(), 0, 0, {}
    for thread, address in entries:
        if address not in known:
            continue
        calls += 1
        function, file = known[address]
        if (file, function) in functions:
            continue
        folder = str(pathlib.PurePath(file).parent)
        changes += last.get(thread, folder) != folder
        last[thread] = folder
        functions.add((file, function))
        files.add(file)
    return {"functions": len(functions), "calls": calls, "files": len(files), "folder changes": changes}, functions


def main():
    options = set(sys.argv[2:])
    build = pathlib.Path(sys.argv[1]).resolve()
    known = symbols(build / "hob")
    with tempfile.TemporaryDirectory() as folder:
        traced = Traced(build, pathlib.Path(folder))
        try:
            traced.sync()
            stream = http.client.HTTPConnection("127.0.0.1", traced.port, timeout=60)
            stream.request("GET", "/api/v1/events")
            events = stream.getresponse()

            def save(round_):
                (traced.art / "a.obj").write_text(triangles(round_ + 1))
                for line in events:  # the job's end: the change was announced before it
                    if line.startswith(b"data: ") and b'"state":"cooked"' in line:
                        return

            saves, gets = [], []
            for round_ in range(ROUNDS):
                saves.append(summary(traced.record(lambda: save(round_)), known))
                gets.append(summary(traced.record(lambda: traced.ask("GET", "/a/art/a.obj")), known))
        finally:
            traced.process.terminate()
            traced.process.wait()
    ok = True
    for name, rounds in (("save", saves), ("GET", gets)):
        figures, functions = min(rounds, key=lambda one: one[0]["calls"])
        print(f"{name:5} " + ", ".join(f"{value} {key}" for key, value in figures.items()))
        if "--list" in options:
            print("\n".join(f"      {file}: {function}" for file, function in sorted(functions)))
        if name == "save":
            ok = figures["functions"] <= FUNCTIONS_MOST and figures["folder changes"] <= CHANGES_MOST
    return 0 if ok or "--check" not in options else 1


if __name__ == "__main__":
    sys.exit(main())
