#!/usr/bin/env python3
"""Checks that includes follow the arrows of the architecture without cycles, that core makes no system calls, and that files stay
short. Prints one line per finding; exits 1 if there is any."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# folder -> other folders whose headers it may include; core/base is allowed everywhere
MAY = {
    "core/base": ["schema"],
    "core/hash": ["core/base"],
    "core/model": ["core/base"],
    "core/import": ["core/base", "core/model"],
    "core/import/assimp": ["core/base", "core/import"],
    "core/import/collada": ["core/base", "core/import"],
    "core/import/fbx": ["core/base", "core/model", "core/import"],
    "core/import/gltf": ["core/base", "core/model", "core/import"],
    "core/import/usd": ["core/base", "core/model", "core/import"],
    "core/import/x3d": ["core/base", "core/model", "core/import"],
    "core/mesh": ["core/base", "core/model"],
    "core/material": ["core/base", "core/model"],
    "core/settings": ["core/base", "core/hash", "core/formats", "schema"],
    "core/texture": ["core/base", "core/model", "core/hash", "core/settings"],
    "core/scene": ["core/base", "core/model"],
    "core/animation": ["core/base", "core/model"],
    "core/formats": ["core/base", "core/model", "core/hash", "schema"],
    "core/compare": ["core/base", "core/formats", "core/settings"],
    "core/check": ["core/base", "core/model", "core/mesh", "core/settings"],
    "core/cook": ["core/base", "core/check", "core/model", "core/import", "core/mesh", "core/material", "core/texture",
                  "core/scene", "core/animation", "core/formats", "core/settings", "schema"],
    "core/runtime": ["core/formats"],
    "core/runtime/draw": ["core/runtime"],
    "core/runtime/examples": ["core/runtime/draw"],
    "core/client/examples": ["core/client", "core/runtime/draw"],
    "core/client": ["core/formats"],
    "server/log": ["core/base"],
    "server/fs": ["core/base", "core/hash"],
    "server/live": ["core/base", "core/settings", "server/fs", "server/settings"],
    "server/service": ["core/base"],
    "server/client": ["core/base", "core/client"],
    "server/settings": ["core/base", "core/hash", "core/settings", "server/fs"],
    "server/watch": ["core/base", "server/fs"],
    "server/graph": ["core/base", "core/hash", "server/fs"],
    "server/queue": ["core/base"],
    "server/worker": ["core/base", "server/fs", "core/hash", "core/cook", "core/import", "core/import/assimp", "core/import/gltf", "core/formats", "core/texture"],
    "server/store": ["core/base", "core/hash", "server/fs"],
    "server/reuse": ["core/base", "core/settings", "server/cook", "server/store", "server/worker"],
    "server/farm": ["core/base", "core/hash"],
    "server/farm/postgres": ["server/farm"],
    "server/farm/s3": ["server/farm"],
    "server/upstream": ["core/base", "core/hash", "server/client", "server/farm", "server/fs", "server/log", "server/reuse", "server/store", "server/worker"],
    "server/config": ["core/base", "core/settings"],
    "server/events": ["core/base", "server/fs"],
    "server/auth": ["core/base", "core/hash", "server/fs"],
    "server/control": ["core/base", "core/hash"],
    "server/view": ["core/base", "core/hash", "core/settings", "schema"],
    "server/query": ["core/base", "core/hash", "core/compare", "server/control", "server/view", "server/store", "server/settings", "server/fs"],
    "server/agent": ["core/base", "core/client", "core/hash", "server/client", "server/fs"],
    "server/mirror": ["core/base", "core/hash", "server/control", "server/fs", "server/log", "server/store"],
    "server/git": ["core/base", "core/hash", "server/control", "server/fs", "server/git/read", "server/log", "server/view", "server/worker"],
        "server/git/read": ["core/base", "server/fs"],
    "server/git/child": ["core/base", "core/hash", "server/client", "server/fs", "server/git/read", "server/worker"],
    "server/derive": ["core/base", "core/hash", "core/compare", "core/formats", "core/texture", "server/control", "server/cook", "server/view", "server/store",
                      "server/query", "server/thumbnail", "server/worker", "server/fs", "server/log"],
    "server/metrics": ["core/base", "schema"],
    "server/cook": ["core/base", "core/hash", "server/control", "server/log", "server/queue", "server/view", "server/store", "server/events"],
    "server/engine": ["server/cook", "server/query", "core/base", "server/fs", "core/settings", "server/log", "server/watch", "server/graph",
                      "server/queue", "server/settings", "server/reuse", "server/upstream", "server/farm", "server/worker", "server/store", "server/events", "server/control",
                      "server/view",
                      "server/derive", "server/metrics", "schema"],
    "server/http": ["core/base", "core/hash", "server/fs", "server/live", "server/log", "server/auth", "server/events", "server/store", "server/control",
                    "server/view", "server/metrics", "schema"],
    "server/thumbnail": ["core/base", "core/runtime/draw", "server/fs", "server/worker", "server/store"],
    "server/cli": ["core/base", "core/hash", "core/settings", "core/formats", "core/texture", "server/service", "server/client", "server/upstream", "server/log", "server/worker",
                   "server/store", "server/auth", "server/http", "server/git", "server/mirror", "server/query", "server/derive", "server/engine", "server/live", "server/config", "server/settings", "server/reuse", "server/fs"],
    "server": ["server/cli"],
}
FUNCTIONS = 60  # in a source file; a header is limited to one idea
findings = []
includes = {}  # file -> files; folder -> folders, of what it includes


def check_includes(path):
    folder = str(path.parent.relative_to(ROOT))
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if not match:
            continue
        target = next((at for at in ((path.parent / match.group(1)).resolve(), ROOT / match.group(1)) if at.exists()), None)
        if not target or not target.is_relative_to(ROOT):
            continue
        other = str(target.parent.relative_to(ROOT))
        includes.setdefault(str(path.relative_to(ROOT)), set()).add(str(target.relative_to(ROOT)))
        if other != folder:
            includes.setdefault(folder, set()).add(other)
        other = "schema" if other.startswith("schema") else other
        if other == folder or (other == "schema" and target.suffix == ".def"):
            continue
        if other not in MAY.get(folder, []) and other != "core/base":
            findings.append(f"{path.relative_to(ROOT)}:{number}: {folder} must not include {other}")


def check_arrows():
    """Reports entries of MAY that no include uses."""
    for folder, others in MAY.items():
        for other in others:
            if other not in includes.get(folder, ()) and other not in ("core/base", "schema"):
                findings.append(f"MAY: {folder} does not include {other}")


def check_circles():
    """Reports each cycle of includes once, as a path."""
    done = set()

    def follow(name, way):
        if name in way:
            findings.append("circle of includes: " + " -> ".join(way[way.index(name):] + [name]))
        elif name not in done:
            for other in sorted(includes.get(name, ())):
                follow(other, way + [name])
            done.add(name)

    for name in sorted(includes):
        follow(name, [])


def sources():
    """Every source file of the project: tracked by git, or present in an unpacked archive."""
    ends = (".c", ".h", ".cpp", ".py", ".js", ".mjs", ".sh")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.splitlines() if listed.returncode == 0 else [
        str(path.relative_to(ROOT)) for top in ("core", "server", "schema", "web", "tests")
        for path in (ROOT / top).rglob("*") if "node_modules" not in path.parts]
    return sorted(name for name in names if name.endswith(ends))


def main():
    tracked = sources()
    names = {}
    for name in tracked:
        path = ROOT / name
        if not path.exists():
            continue
        if path.suffix in (".c", ".h", ".cpp") and name.startswith(("core/", "server/")):
            check_includes(path)
            names.setdefault(path.name, []).append(name)
        if name.endswith((".c", ".cpp")) and (functions := len(re.findall(r"^\{$", path.read_text(), re.M))) > FUNCTIONS:
            findings.append(f"{name}: {functions} functions, more than {FUNCTIONS}")
    check_arrows()
    check_circles()
    for name, places in names.items():
        if len(places) > 1:
            findings.append(f"file name used twice: {', '.join(places)}")
    for folder in sorted({str(pathlib.Path(n).parent) for n in tracked if n.startswith(("core/", "server/"))}):
        if folder.count("/") == 1 and not (ROOT / folder / "README.md").exists():
            findings.append(f"{folder}: no README.md")
    print("\n".join(findings) or f"layers: {len(tracked)} files follow the arrows")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
