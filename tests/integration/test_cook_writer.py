"""hob cook while a program writes a file of a model: waits for it, cooks the last version, or names the file."""
import ctypes
import os
import select
import subprocess
import sys
import threading

from hobtest import DEADLINE, HOB, Scenario, main, obj_text, png
from test_cook import tree

STEP = 0.03  # seconds between two writes


class Closes:
    """wait() returns when a reader has closed the file."""
    IN_CLOSE_NOWRITE = 0x10

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_CLOEXEC)
        if libc.inotify_add_watch(self.fd, os.fsencode(path), self.IN_CLOSE_NOWRITE) < 0:
            raise OSError(ctypes.get_errno(), path)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        os.close(self.fd)

    def wait(self):
        if not select.select([self.fd], [], [], DEADLINE)[0]:
            raise TimeoutError("nobody has read the file")
        os.read(self.fd, 4096)


class Writer(Scenario):
    def cook(self, *arguments, code=0):
        done = subprocess.run([HOB, "cook", self.art, *map(str, arguments)], capture_output=True, text=True, timeout=DEADLINE,
                              cwd=self.folder)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stderr

    def start(self, *arguments):
        return subprocess.Popen([HOB, "cook", self.art, *map(str, arguments)], stderr=subprocess.PIPE, text=True, cwd=self.folder)

    def until(self, process, word):
        lines = []
        for line in process.stderr:
            lines.append(line)
            if word in line:
                return line
        self.fail("".join(lines))

    def check_clean(self, out):
        self.cook("-o", self.folder / "clean")
        self.assertEqual(tree(self.folder / "clean"), tree(out))

    def test_a_file_that_is_open_for_writing_is_waited_for(self):
        path = self.put("a.obj", obj_text(20))
        text = obj_text(40)
        with open(path, "w") as file:
            file.write(text[:300])
            file.flush()
            process = self.start("-o", self.folder / "out")
            line = self.until(process, "waiting")
            self.assertIn(f"waiting  a.obj: {open('/proc/self/comm').read().strip()} (process {os.getpid()}) writes 'a.obj'", line)
            file.write(text[300:])
        rest = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(DEADLINE), 0, rest)
        self.assertIn("1 cooked, 0 failed", rest)
        self.check_clean(self.folder / "out")

    def test_a_texture_is_waited_for_and_nobody_else(self):
        self.put("a.mtl", "newmtl m\nmap_Kd a.png\n")
        self.put("a.obj", obj_text(20, mtl="a.mtl"))
        self.put("b.obj", obj_text(30))
        picture = png(1, 2, 3)
        path = self.put("a.png", picture)
        with open(path, "wb") as file:
            file.write(picture[:20])
            file.flush()
            process = self.start("-o", self.folder / "out")
            lines = [self.until(process, word) for word in ("cooked  b.obj", "waiting")]
            self.assertIn("writes 'a.png'", lines[1])
            file.write(picture[20:])
        rest = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(DEADLINE), 0, rest)
        self.check_clean(self.folder / "out")

    def append(self, path, until):
        """Opens, appends and closes, as `echo >>` does."""
        count = 0
        while not until.wait(STEP):
            count += 1
            with open(path, "a") as file:
                file.write(f"v {count} 0 0\n")

    def test_a_writer_that_comes_again_and_again_ends_with_its_last_word(self):
        path = self.put("a.obj", obj_text(20000))
        over = threading.Event()
        thread = threading.Thread(target=self.append, args=(path, over))
        timer = threading.Timer(100 * STEP, over.set)
        thread.start()
        timer.start()
        self.cook("-o", self.folder / "out")
        thread.join()
        self.check_clean(self.folder / "out")

    def test_a_save_after_the_file_was_read_is_cooked(self):
        path = self.put("a.obj", obj_text(20000))
        with Closes(path) as closes:
            process = self.start("-o", self.folder / "out")
            closes.wait()
            with open(path, "a") as file:
                file.write("v 1000 1000 1000\nf 1 2 -1\n")
        said = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(DEADLINE), 0, said)
        self.check_clean(self.folder / "out")

    def test_one_that_never_stops_is_named(self):
        path = self.put("a.obj", obj_text(20))
        self.put("b.obj", obj_text(30))
        code = ("import sys, time\nf = open(sys.argv[1], 'a')\nprint(flush=True)\n"
                "while True:\n  f.write('# x\\n'); f.flush(); time.sleep(0.01)")
        writer = subprocess.Popen([sys.executable, "-c", code, path], stdout=subprocess.PIPE)
        try:
            writer.stdout.readline()  # it has opened the file
            said = self.cook("-o", self.folder / "out", "--wait-writer", 1, "--report", self.folder / "r.json", code=1)
        finally:
            writer.kill()
            writer.stdout.close()
            writer.wait()
        self.assertRegex(said, rf"failed  a.obj: 'a.obj' is still being written by \S+ \(process {writer.pid}\) after 1 s")
        self.assertIn("1 cooked, 1 failed", said)
        self.assertIn("is still being written", (self.folder / "r.json").read_text())
        self.assertEqual([path.name for path in (self.folder / "out").glob("a.*")], [])

    def test_ctrl_c_ends_the_wait(self):
        path = self.put("a.obj", obj_text(20))
        with open(path, "a") as file:
            file.write("# x\n")
            file.flush()
            process = self.start("-o", self.folder / "out")
            self.until(process, "waiting")
            process.send_signal(2)
            process.stderr.read()
            process.stderr.close()
            self.assertEqual(process.wait(DEADLINE), 130)

    def test_what_came_after_a_wait_is_kept(self):
        path = self.put("a.obj", obj_text(20))
        with open(path, "a") as file:
            file.write("# x\n")
            file.flush()
            process = self.start("-o", self.folder / "out", "--cache", self.folder / "cache")
            self.until(process, "waiting")
            file.write("v 1 2 3\n")
        process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(DEADLINE), 0)
        said = self.cook("-o", self.folder / "again", "--cache", self.folder / "cache")
        self.assertIn("0 cooked, 1 from the cache", said)
        self.assertEqual(tree(self.folder / "out"), tree(self.folder / "again"))


if __name__ == "__main__":
    main()
