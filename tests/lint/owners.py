#!/usr/bin/env python3
"""Checks that the daemon's state stays split: in FOLDERS no struct has more than FIELDS fields, no header declares more than
FUNCTIONS functions, and only the owner's files assign its fields (OWNERS). Prints one line per finding; exits 1 if there is
any."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENGINE = "server/engine"
FIELDS, FUNCTIONS = 25, 60
FOLDERS = (ENGINE, "server/cook", "server/control", "server/derive", "server/graph", "server/query", "server/queue")
# expression before an assigned field, in files of ENGINE -> files that may assign it
OWNERS = {
    "engine->life->": ["engine.c", "engine_kit.c"],
    "engine->turn->": ["engine_turn.c"],
    "engine->assets->": ["engine_assets.c", "engine_inputs.c"],
    "engine->jobs->": ["engine_jobs.c", "engine_job.c", "engine_turn.c", "engine_kit.c", "engine_order.c", "engine_limits.c"],
    "engine->roots->": ["engine_root.c", "engine_skipped.c", "engine_sources.c"],
    "engine->sources->": ["engine_sources.c", "engine_files.c", "engine_skipped.c", "engine_maps.c"],
    "engine->publishing->": ["engine_publish.c", "engine_view.c", "engine_load.c"],
    "engine->changesets->": ["engine_changeset.c"],
    "engine->moves->": ["engine_move.c"],
    "engine->requests->": ["engine_requests.c"],
    "engine->exchange->": ["engine_upstream.c", "engine_farm.c", "engine_chain.c"],
    "engine->upkeep->": ["engine_upkeep.c", "engine_heal.c"],
    "engine->health->": ["engine_health.c"],
    "->life.": ["server/cook/asset.c"],  # of a job: server/cook/job.c
    "->life.order.": ["engine_job.c", "engine_jobs.c", "engine_cook.c", "engine_finish.c"],
    "->changeset.": ["engine_changeset.c"],
    "->move.": ["engine_move.c", "engine_assets.c"],
    "->shown.": ["engine_publish.c", "engine_view.c", "engine_load.c"],
    "->last.": ["engine_inputs.c", "engine_cook.c", "engine_load.c", "engine_limits.c"],
    "->remote.": ["engine_upstream.c", "engine_farm.c"],
    "->due.": ["engine_kit.c"],
}
ASSIGNS = r"[\w.\[\]\->]*\s*(?:=(?!=)|[-+|&]=|\+\+|--)"


def plain(text):
    """Removes comments and keeps line numbers."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def field_count(body):
    """Fields of a struct; a nested struct or array counts as one."""
    while re.search(r"\{[^{}]*\}", body):
        body = re.sub(r"\{[^{}]*\}", "", body)
    body = re.sub(r"\([^()]*\)", "", re.sub(r"\(\*\w+\)\([^;]*\)", "f", body))
    return sum(1 + line.count(",") for line in body.split(";") if re.search(r"\w", line))


def structs(text):
    for match in re.finditer(r"\bstruct\s+(\w+)\s*\{", text):
        depth, at = 1, match.end()
        while depth > 0 and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        yield match.group(1), text[match.end():at - 1], text.count("\n", 0, match.start()) + 1


def check_sizes(path, text, findings):
    for name, body, line in structs(text):
        count = field_count(body)
        if count > FIELDS:
            findings.append(f"{path}:{line}: struct {name} has {count} fields, more than {FIELDS}")
    if path.suffix == ".h":
        count = len(re.findall(r"^[a-z][^;{}()=#]*\b\w+\([^;{}]*\)[^;{}]*;", re.sub(r"\{[^{}]*\}", "", text), flags=re.M))
        if count > FUNCTIONS:
            findings.append(f"{path}: {count} functions, more than {FUNCTIONS}")


def check_owners(path, text, findings):
    for of, files in OWNERS.items():
        if path.name in files or str(path) in files:
            continue
        of = re.escape(of) + (r"(?!order\.)" if of == "->life." else "")
        for match in re.finditer(of + ASSIGNS + r"|(?:\+\+|--)[\w\->.]*" + of, text):
            line = text.count("\n", 0, match.start()) + 1
            findings.append(f"{path}:{line}: assigns what {files[0]} owns: {match.group(0).strip()}")


def main():
    findings = []
    for path in sorted(path for folder in FOLDERS for path in (ROOT / folder).glob("*.[ch]")):
        short = path.relative_to(ROOT)
        text = plain(path.read_text(errors="replace"))
        check_sizes(short, text, findings)
        if str(short.parent) == ENGINE:
            check_owners(short, text, findings)
    print("\n".join(findings) or f"owners: {len(OWNERS)} owners keep to themselves")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
