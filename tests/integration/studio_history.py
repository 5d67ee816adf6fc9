#!/usr/bin/env python3
"""The history of a studio as a bare repository: models from a folder, each many times with a remark of its own, and commits of
several people that add, edit, rename and delete models, change textures, merge branches and break things.

    python3 tests/integration/studio_history.py REPOSITORY [--models 2000] [--commits 300] [--from tests/data/models] [--seed 1]

`main` leads to all commits; `topic` is 40 changed models ahead of it. What people look for is there: props/hero.obj grows in
small steps, props/flag.obj cannot be read since a commit in the middle.
"""
import argparse
import os
import pathlib
import random
import struct
import subprocess
import zlib

ENVIRONMENT = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
PEOPLE = ("Ann", "Bo", "Cleo", "Dov", "Eri")
LARGEST = 60000
MODELS = pathlib.Path(__file__).resolve().parents[1] / "data/models"


def picture(red, green, blue):
    """A PNG of 8x8 points."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    line = b"\0" + bytes((red, green, blue)) * 8
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", 8, 8, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(line * 8)) + chunk(b"IEND", b""))


def fan(triangles, height=1.0):
    """An .obj of so many triangles."""
    points = "".join(f"v {n / triangles:.5f} {height * (n % 7):.5f} {n % 3}\n" for n in range(triangles + 2))
    return points + "".join(f"f {n} {n + 1} {n + 2}\n" for n in range(1, triangles + 1))


def shapes(folder):
    """Small .obj models without files beside them, as texts."""
    found = []
    for path in sorted(pathlib.Path(folder).rglob("*.obj")):
        text = path.read_bytes()
        if len(text) < LARGEST and b"\nf " in text:
            found.append("\n".join(line for line in text.decode("latin-1").splitlines() if not line.startswith(("mtllib", "usemtl"))))
    return found or [fan(24)]


class History:
    def __init__(self, models, commits, folder, seed):
        self.chance, self.shapes, self.stream, self.marks = random.Random(seed), shapes(folder), [], 0
        self.files, self.size, self.commits = {}, models, commits
        self.hero = 200

    def model(self, name):
        picked = self.chance.random()
        number = self.chance.randrange(10**9)
        text = fan(8 + number % 40, 1 + number % 5) if picked < 0.5 else self.chance.choice(self.shapes)
        return f"# {name} {number}\nmtllib m{number % 20}.mtl\nusemtl m\n{text}\n"

    def commit(self, who, subject, changes, parents, ref="main"):
        """changes: {path: text or bytes, None to delete}; returns the commit's mark."""
        self.marks += 1
        when = 1700000000 + 3600 * self.marks
        part = [f"commit refs/heads/{ref}\nmark :{self.marks}\ncommitter {who} <{who.lower()}@studio.example> {when} +0000\n"
                f"data {len(subject)}\n{subject}\n".encode()]
        for word, parent in zip(("from", "merge"), parents):
            part.append(f"{word} :{parent}\n".encode())
        for path, data in changes.items():
            if data is None:
                part.append(f"D {path}\n".encode())
                continue
            data = data.encode() if isinstance(data, str) else data
            part += [f"M 100644 inline {path}\ndata {len(data)}\n".encode(), data, b"\n"]
        self.stream += part
        if ref == "main":
            self.files.update(changes)
            self.files = {path: data for path, data in self.files.items() if data is not None}
        return self.marks

    def props(self):
        return [path for path in self.files if path.startswith("props/set") and path.endswith(".obj")]

    def first(self):
        files = {f"props/set{n % 40:02}/m{n:04}.obj": self.model(f"m{n:04}") for n in range(self.size - 2)}
        for folder in {path.rpartition("/")[0] for path in files}:
            files |= {f"{folder}/m{n}.mtl": f"newmtl m\nKd 1 1 1\nmap_Kd ../../tex/t{n}.png\n" for n in range(20)}
        files |= {f"tex/t{n}.png": picture(12 * n, 90, 200 - 9 * n) for n in range(20)}
        files |= {"props/hero.obj": fan(self.hero), "props/flag.obj": fan(60), "README.md": "Models of the studio.\n"}
        return self.commit("Ann", "The first models", files, [])

    def change(self, number):
        """Subject and changes of a commit."""
        chance, props = self.chance, self.props()
        name = chance.choice(props)
        if number == self.commits // 2:
            return "Wave the flag", {"props/flag.obj": "v 0 0 0\nf 1 2 999\n"}
        if number % 12 == 5:
            self.hero = int(self.hero * 1.06) + 1
            return "More detail for the hero", {"props/hero.obj": fan(self.hero)}
        what = chance.choice(["edit"] * 6 + ["add", "add", "rename", "delete", "texture", "material"])
        if what == "add":
            path = f"props/set{number % 40:02}/new{number}.obj"
            return f"Add new{number}", {path: self.model(path)}
        if what == "rename":
            return f"Rename {name[6:]}", {name: None, name[:-4] + "-b.obj": self.files[name]}
        if what == "delete" and len(props) > self.size - 20:
            return f"Remove {name[6:]}", {name: None}
        if what == "texture" and number % 3 == 0:
            at = chance.randrange(20)
            return f"Repaint t{at}", {f"tex/t{at}.png": picture(*(chance.randrange(256) for _ in range(3)))}
        if what == "material":
            path = f"{name.rpartition('/')[0]}/m{chance.randrange(20)}.mtl"
            return "Tune a material", {path: self.files[path].replace("Kd 1 1 1", f"Kd 1 {chance.random():.3f} 1")}
        names = chance.sample(props, chance.randrange(1, 4))
        return f"Edit {len(names)} of the props", {path: self.model(path) for path in names}

    def make(self, repository):
        tip = self.first()
        number = 1
        while number < self.commits:
            who = self.chance.choice(PEOPLE)
            if number % 25 == 20 and number + 2 < self.commits:
                path = self.chance.choice(self.props())
                side = self.commit(who, f"Rework {path[6:]} on a branch", {path: self.model(path)}, [tip], "side")
                main = self.commit("Ann", "Notes", {"README.md": f"Notes of day {number}.\n"}, [tip])
                tip = self.commit("Ann", "Merge the branch", {path: self.model(path)}, [main, side])
                number += 3
                continue
            subject, changes = self.change(number)
            tip = self.commit(who, subject, changes, [tip])
            number += 1
        changed = self.chance.sample(self.props(), 38)
        topic = {path: self.files[path].replace("v ", "v 0", 1) + fan(12 + n, 2) for n, path in enumerate(changed)}
        topic |= {"props/hero.obj": fan(self.hero // 2), "props/extra.obj": fan(30), "props/flag.obj": fan(64), changed[-1]: None}
        self.commit("Cleo", "A lighter hero, a mended flag, and 37 props", topic, [tip], "topic")
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", repository], check=True, env=ENVIRONMENT)
        subprocess.run(["git", "-C", repository, "fast-import", "--quiet", "--force"], check=True, env=ENVIRONMENT, input=b"".join(self.stream))
        subprocess.run(["git", "-C", repository, "update-ref", "-d", "refs/heads/side"], check=True, env=ENVIRONMENT)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("repository")
    options.add_argument("--models", type=int, default=2000)
    options.add_argument("--commits", type=int, default=300)
    options.add_argument("--from", dest="folder", default=str(MODELS))
    options.add_argument("--seed", type=int, default=1)
    options = options.parse_args()
    History(options.models, options.commits, options.folder, options.seed).make(options.repository)


if __name__ == "__main__":
    main()
