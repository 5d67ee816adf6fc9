"""CPU of rules: cooks all models of folders without rules, with the default ones, with each profile, and with every rule on, in turn.

usage: rules_bench.py BUILD FOLDER... [--rounds=N] [--sets=default,game,all]; prints user and system seconds of all processes, and their ratio to no rules.
       rules_bench.py BUILD --deep; prints the seconds that each rule of `hob check --deep` costs for a mesh just within its bound and one beyond.
       rules_bench.py BUILD --cached=50000; prints the seconds in which `hob check` judges so many models from its cache.
"""
import json
import pathlib
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TABLE = pathlib.Path(__file__).resolve().parents[2] / "schema/rules.def"
rules = re.findall(r'^RULE\(\w+, "([^"]+)", (\w+)', TABLE.read_text(), re.M)
SETS = {"none": {rule: "off" for rule, _ in rules}, "default": {}} \
    | {profile: {"profile": profile} for profile in sorted(set(re.findall(r"^RULE_PROFILE\((\w+)", TABLE.read_text(), re.M)))} \
    | {"all": {rule: "warning" for rule, _ in rules}}


def cook(hob, folder, chosen, **others):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([hob, "cook", folder, "-o", out, "-j", "1", "--quiet", "--settings", json.dumps({"rules": chosen} | others)],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def grid(side):
    """2 * side * side triangles, a closed sheet but for its border."""
    yield from (f"v {x} {y} {(x * 7 + y * 3) % 5 / 50}" for y in range(side + 1) for x in range(side + 1))
    for y in range(side):
        for x in range(side):
            a = y * (side + 1) + x + 1
            yield f"f {a} {a + 1} {a + side + 2}\nf {a} {a + side + 2} {a + side + 1}"


def stack(count):
    """Triangles that all overlap along x, each `count` times, and do not touch."""
    for i in range(count):
        yield f"v 0 0 {i}\nv 1 0 {i}\nv 0 1 {i}\nf {3 * i + 1} {3 * i + 2} {3 * i + 3}"


def sheets(count):
    """Triangles that cover half of the picture each."""
    yield "vt 0 0\nvt 1 0\nvt 0 1"
    for i in range(count):
        yield f"v 0 0 {i}\nv 1 0 {i}\nv 0 1 {i}\nf {3 * i + 1}/1 {3 * i + 2}/2 {3 * i + 3}/3"


# rule: (maker, size within the bound, size beyond it)
DEEP = {"mesh.open": (grid, 1000, 1010), "mesh.non-manifold": (grid, 1000, 1010), "mesh.inside-out": (grid, 1000, 1010),
        "uv.margin": (sheets, 63, 1000), "mesh.interpenetrating": (stack, 16300, 40000), "uv.overlap": (sheets, 63, 1000)}


def check_deep(hob):
    with tempfile.TemporaryDirectory() as where:
        for rule, (make, within, beyond) in DEEP.items():
            for size in (within, beyond):
                (pathlib.Path(where) / "m.obj").write_text("o m\n" + "\n".join(make(size)))
                plain, deep = ([], [])
                for _ in range(3):
                    for times, chosen in ((plain, SETS["none"]), (deep, SETS["none"] | {rule: "warning", "deep": True})):
                        times.append(cook(hob, where, chosen, lods={"max": 1}))
                print(f"{rule:22} {size:6}  {min(deep) - min(plain):6.2f} s beside {min(plain):6.2f}", flush=True)


def check_cached(hob, count):
    """Times `hob check` on `count` cached tetrahedra, a tenth of them open."""
    with tempfile.TemporaryDirectory() as where:
        art = pathlib.Path(where) / "art"
        for i in range(count):
            file = art / f"{i // 100}/{i}.obj"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"o body\nv {i} 0 0\nv 1 {i} 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\n" + ("f 3 1 4\n" if i % 10 else ""))
        (art / "cook.json").write_text('{"rules": {"mesh.open": "warning"}}')
        for what in ("cooked", *["cached"] * 5):
            began = time.monotonic()
            told = subprocess.run([hob, "check", art, "--cache", f"{where}/cache"], capture_output=True, text=True, check=True).stdout
            print(f"{what} {time.monotonic() - began:6.2f} s   {told.splitlines()[-1]}")


def main():
    build, *folders = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    rounds = int(next((a.split("=")[1] for a in sys.argv if a.startswith("--rounds=")), "3"))
    chosen_sets = next((a.split("=")[1].split(",") for a in sys.argv if a.startswith("--sets=")), list(SETS))
    sets = {name: SETS[name] for name in ["none", *chosen_sets]}
    spent = {name: [] for name in sets}
    for at in range(rounds):  # forwards and backwards in turn: what grows with time weighs on none
        for name, chosen in list(sets.items())[::1 if at % 2 == 0 else -1]:
            spent[name].append(sum(cook(f"{build}/hob", folder, chosen) for folder in folders))
    least = {name: min(times) for name, times in spent.items()}
    for name, times in spent.items():
        ratio = statistics.median(time / none for time, none in zip(times, spent["none"]))
        print(f"{name:8} {least[name]:8.2f} s   {ratio:6.3f} at the median, {least[name] / least['none']:6.3f} of the least")


if __name__ == "__main__":
    if len(sys.argv) < 3 or not shutil.which(sys.argv[1] + "/hob"):
        sys.exit(__doc__)
    if sys.argv[2] == "--deep":
        check_deep(f"{sys.argv[1]}/hob")
    elif sys.argv[2].startswith("--cached="):
        check_cached(f"{sys.argv[1]}/hob", int(sys.argv[2].split("=")[1]))
    else:
        main()
