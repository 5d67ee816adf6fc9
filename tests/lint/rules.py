#!/usr/bin/env python3
"""Checks that each row of schema/rules.def has what belongs to it: a model that breaks it and one that keeps it in
tests/integration/test_rules.py, in three formats where three of the test's writers can carry it; a row in docs/rules.md; a picture of
a geometric rule; notes that the code really writes; a word for each kind of object on the page. Prints one line per finding; exits 1
if there is any."""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/integration"), str(ROOT / "docs")]
import generate  # noqa: E402
import rule_pictures  # noqa: E402
import test_rules  # noqa: E402

# Rules without a row of models, and rules that fewer than three formats of the writers carry
ELSEWHERE = {"source.shrunk", "import.lost", "reference.missing", "source.newer-than-export"}
FEWER = {"material.unlit"}  # an extension of glTF
FLAT = {"mesh.triangles", "mesh.draws", "scene.depth", "scene.empty", "scene.hidden"}  # counts and states: nothing to draw


def findings():
    text = (ROOT / "schema/rules.def").read_text()
    rules = {row[0]: row for row in generate.entries("RULE", text) if row[0] != "name"}
    page, labels = (ROOT / "docs/rules.md").read_text(), (ROOT / "web/app/text.js").read_text()
    code = "".join(path.read_text() for folder in ("core", "server") for path in (ROOT / folder).rglob("*.[ch]"))
    for name, rule, _, _, _, _, _, blind, fault, meaning, mend in rules.values():
        row = test_rules.ROWS.get(rule)
        if rule not in test_rules.ROWS or (row is None) != (rule in ELSEWHERE):
            yield f"{rule}: tests/integration/test_rules.py has no models that break and keep it"
        formats = set(row[3]) if row else set()
        able = set(test_rules.WRITERS) - set(blind.split())
        if row and len(formats) < min(3, len(able)) and rule not in FEWER:
            yield f"{rule}: tested in {', '.join(sorted(formats))}, but {', '.join(sorted(able))} could carry it"
        if formats & set(blind.split()):
            yield f"{rule}: tested in a format that the table calls blind"
        if f"| `{rule}` |" not in page or meaning not in page:
            yield f"{rule}: docs/rules.md has no row: run docs/generate.py"
        if rule.partition(".")[0] in ("mesh", "uv", "scene") and rule not in FLAT and rule not in rule_pictures.PICTURES:
            yield f"{rule}: no picture in docs/rule_pictures.py"
        if not (fault and meaning and mend) or re.search(r"[.;,]$", meaning + mend[-1:]):
            yield f"{rule}: fault, meaning and mend are texts without a point at the end"
        if f"HOB_RULE_{name}" not in code and not re.search(rf"^RULE_NOTE\({name},", text, re.M):
            yield f"{rule}: nothing checks it"
    for name, note in generate.entries("RULE_NOTE", text):
        if name in rules and f'"{note}' not in code and f'"{note.partition(".")[2]}"' not in code:
            yield f"{rules[name][1]}: no code writes a note '{note}'"
    for rule in set(test_rules.ROWS) | set(rule_pictures.PICTURES):
        if rule not in {row[1] for row in rules.values()}:
            yield f"{rule}: is not in schema/rules.def"
    kinds = set(re.findall(r'HOB_RULE_\w+, "(\w+)"', (ROOT / "core/check/model_check.c").read_text()))
    for kind in sorted(kinds):
        if not re.search(rf"kinds: (?:/\*\* @type {{[\w.]+}} \*/ \()?{{[^}}]*\b{kind}:", labels):
            yield f"web/app/text.js has no word for a finding of a {kind}"


if __name__ == "__main__":
    found = list(findings())
    print("\n".join(found))
    sys.exit(1 if found else 0)
