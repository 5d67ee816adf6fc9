"""CPU of rules: cooks all models of folders without rules, with the default ones, with each profile, and with every rule on, in turn.

usage: rules_bench.py BUILD FOLDER... [--rounds=N] [--sets=default,game,all]; prints user and system seconds of all processes, and their ratio to no rules.
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

TABLE = pathlib.Path(__file__).resolve().parents[2] / "schema/rules.def"
rules = re.findall(r'^RULE\(\w+, "([^"]+)", (\w+)', TABLE.read_text(), re.M)
SETS = {"none": {rule: "off" for rule, _ in rules}, "default": {}} \
    | {profile: {"profile": profile} for profile in sorted(set(re.findall(r"^RULE_PROFILE\((\w+)", TABLE.read_text(), re.M)))} \
    | {"all": {rule: "warning" for rule, _ in rules}}


def cook(hob, folder, chosen):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([hob, "cook", folder, "-o", out, "-j", "1", "--quiet", "--settings", json.dumps({"rules": chosen})],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    build, *folders = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    rounds = int(next((a.split("=")[1] for a in sys.argv if a.startswith("--rounds=")), "3"))
    chosen_sets = next((a.split("=")[1].split(",") for a in sys.argv if a.startswith("--sets=")), list(SETS))
    sets = {name: SETS[name] for name in ["none", *chosen_sets]}
    spent = {name: [] for name in sets}
    for _ in range(rounds):
        for name, chosen in sets.items():
            spent[name].append(sum(cook(f"{build}/hob", folder, chosen) for folder in folders))
    least = {name: min(times) for name, times in spent.items()}
    for name, times in spent.items():
        ratio = statistics.median(time / none for time, none in zip(times, spent["none"]))
        print(f"{name:8} {least[name]:8.2f} s   {ratio:6.3f} at the median, {least[name] / least['none']:6.3f} of the least")


if __name__ == "__main__":
    if len(sys.argv) < 3 or not shutil.which(sys.argv[1] + "/hob"):
        sys.exit(__doc__)
    main()
