"""The same files give the same bytes for any number of cook processes and threads, folder, order and times of the files, locale,
time zone and umask. The long form uses the whole corpus."""
import hashlib
import os
import shutil
import subprocess

from hobtest import CORPUS, DEADLINE, HOB, MODELS, Scenario, amount, beside, bumpy_grid, main

CORES = beside("libother_cores.so")


def smallest(folder, suffixes, count):
    files = [path for path in folder.rglob("*") if path.suffix.lower() in suffixes and path.is_file()]
    return sorted(files, key=lambda path: (path.stat().st_size, path))[len(files) // 3:][:count]


class Same(Scenario):
    def german(self):
        """A locale with decimal commas, built here: few machines have one."""
        folder = self.folder / "locales"
        folder.mkdir()
        made = subprocess.run(["localedef", "--no-archive", "-i", "de_DE", "-f", "UTF-8", folder / "de_DE.UTF-8"],
                              capture_output=True, check=False) if shutil.which("localedef") else None
        if not made or made.returncode:
            print("same: no language with commas can be made here (Debian's package locales), so none is tried")
            return {}
        comma = subprocess.run(["printf", "%.1f", "1,5"], env={"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8", "PATH": os.environ["PATH"]},
                               capture_output=True, text=True, check=False)
        self.assertEqual(comma.stdout, "1,5", "the language is not in force")
        return {"LOCPATH": str(folder), "LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de"}

    def cook(self, source, out, jobs, cores, **more):
        cores = {"LD_PRELOAD": str(CORES), "HOB_TEST_CORES": str(cores), "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"} if CORES.exists() else {}
        done = subprocess.run([HOB, "cook", ".", "-o", out, "-j", str(jobs), "--classic", "--timeout", "60", "--quiet"], cwd=source,
                              env=dict(os.environ) | cores | more, capture_output=True, text=True, timeout=DEADLINE * 10, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.assertNotIn("Sanitizer", done.stderr)
        return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in out.rglob("*")
                if path.is_file() and not path.name.endswith(".report.json")}

    def copied(self, files, to, reverse=False):
        """The files again under another path, created in reverse order, with other times."""
        for i, (path, name) in enumerate(sorted(files, reverse=reverse)):
            target = to / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            os.utime(target, (1000 + i, 2000 + i))
        return to

    def compare(self, files, jobs):
        one = self.copied(files, self.folder / "a")
        deep = self.copied(files, self.folder / "b" / ("long name " * 9).strip() / "ümlaut", reverse=True)
        runs = [("1 process", self.cook(one, self.folder / "out1", 1, 1, LC_ALL="C", TZ="UTC")),
                ("2 threads", self.cook(one, self.folder / "out2", jobs, 2))]
        old = os.umask(0o077)
        try:
            runs.append(("8 threads, elsewhere, another language",
                         self.cook(deep, self.folder / "out3", jobs, 8, TZ="Asia/Kathmandu", **self.german())))
        finally:
            os.umask(old)
        first = runs[0][1]
        for what, found in runs[1:]:
            self.assertEqual(sorted(found), sorted(first), what)
            self.assertEqual([name for name in first if found[name] != first[name]], [], what)
        print(f"same: {len(files)} files, {len(first)} outputs, the same {len(runs)} times")
        return first

    def test_same_bytes_of_a_sample(self):
        self.put("grid.obj", bumpy_grid(60))
        files = {(path, "models/" + str(path.relative_to(MODELS))) for path in MODELS.rglob("*") if path.is_file()}
        files.add((self.art / "grid.obj", "grid.obj"))
        files = set(sorted(files)[:amount(9, 1000)]) | {(self.art / "grid.obj", "grid.obj")}
        for kind in (sorted(path.name for path in CORPUS.iterdir() if path.is_dir() and path.name != "bad") if CORPUS.exists() else ()):
            for path in smallest(CORPUS / kind, {"." + kind, ".dae", ".fbx", ".glb", ".bvh"}, amount(1, 20)):
                files.add((path, f"{kind}/{path.name}"))
        self.assertGreater(len(self.compare(files, amount(len(files), 16))), 50)

    def test_same_bytes_of_the_whole_corpus(self):
        if not CORPUS.exists() or amount(True, False):
            self.skipTest("for ./dev torture, and with the model corpus")
        files = {(path, str(path.relative_to(CORPUS))) for path in CORPUS.rglob("*") if path.is_file() and "bad" not in path.parts}
        self.assertGreater(len(self.compare(files, 8)), 1000)


if __name__ == "__main__":
    main()
