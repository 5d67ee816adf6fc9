#!/usr/bin/env python3
"""violations.py BUILD: proves that each lint fails. Runs each lint on a copy of the tree, first unchanged, then with one
violation at a time. Prints one line per lint with a wrong result; exits 1 if there is any."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LAYERS, OWNERS, JOBS, TEXT, DOCS, PROMISES, RULES = (["python3", name] for name in (
    "tests/lint/layers.py", "tests/lint/owners.py", "tests/lint/jobs.py", "tests/lint/text.py", "docs/generate.py",
    "tests/lint/promises.py", "tests/lint/rules.py"))
DOCS.append("--check")
FORMAT, SPELLING, LANGUAGES = ["tests/lint/format.sh"], ["tests/lint/spelling.sh"], ["tests/lint/runtime_languages.sh"]


def append(name, text):
    def put(tree):
        with open(tree / name, "a") as file:
            file.write(text)
    return [name], put


def write(*files):
    def put(tree):
        for name, text in files:
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_text(text)
    return [name for name, _ in files], put


def replace(name, old, new):
    def put(tree):
        text = (tree / name).read_text()
        assert old in text, (name, old)
        (tree / name).write_text(text.replace(old, new, 1))
    return [name], put


def remove(name):
    return [name], lambda tree: (tree / name).unlink()


# Violation by name -> (lint, a word of its output, the change).
TREE = {
    "an arrow up in server": (LAYERS, "server/store must not include server/http",
                              append("server/store/pack.h", '#include "../http/http.h"\n')),
    "the same, from the root": (LAYERS, "server/store must not include server/http",
                                append("server/store/pack.h", '#include "server/http/http.h"\n')),
    "an arrow up in core": (LAYERS, "core/mesh must not include core/cook", append("core/mesh/weld.h", '#include "../cook/cook.h"\n')),
    "core includes server": (LAYERS, "core/base must not include server/log", append("core/base/base.h", '#include "../../server/log/log.h"\n')),
    "a rule without models": (RULES, "uv.stretch: tests/integration/test_rules.py has no models",
                              replace("tests/integration/test_rules.py", '"uv.stretch":', '"uv.stretched":')),
    "a rule in two formats": (RULES, "clip.count: tested in", replace("tests/integration/test_rules.py", 'NAMED, SKINNED = ("gltf", "dae", "fbx")', 'NAMED, SKINNED = ("gltf", "dae")')),
    "a geometric rule without a picture": (RULES, "mesh.open: no picture", replace("docs/rule_pictures.py", '"mesh.open"', '"mesh.opened"')),
    "a rule for notes that nothing writes": (RULES, "no code writes a note 'fbx.stall'", replace("schema/rules.def", '"fbx.still"', '"fbx.stall"')),
    "a finding without a word on the page": (RULES, "no word for a finding of a clip", replace("web/app/text.js", "clip: 'Clip'", "clips: 'Clip'")),
    "a promise without its test": (PROMISES, "there is no test hostile", remove("tests/integration/test_hostile.py")),
    "a circle of files": (LAYERS, "circle of includes", write(("core/hash/one.h", '#include "two.h"\n'), ("core/hash/two.h", '#include "one.h"\n'))),
    "a circle of folders": (LAYERS, "circle of includes: server/",
                            append("server/cook/judge.h", '#include "../engine/engine.h"\n')),
    "an arrow that no file uses": (LAYERS, "does not include", replace("tests/lint/layers.py", '"core/hash": [', '"core/hash": ["core/mesh", ')),
    "a file of 61 functions": (LAYERS, "61 functions", write(("core/hash/long.c", "static void f(void)\n{\n}\n" * 61))),
    "a file name used twice": (LAYERS, "file name used twice", write(("server/fs/hash.h", "\n"))),
    "a folder without README": (LAYERS, "no README.md", remove("server/queue/README.md")),
    "a struct of 26 fields": (OWNERS, "has 26 fields", write(("server/queue/wide.h", "struct wide {\n" + "".join(
        f"\tint field_{i};\n" for i in range(26)) + "};\n"))),
    "a header of 61 functions": (OWNERS, "61 functions", write(("server/queue/many.h", "".join(f"void srv_f{i}(int n);\n" for i in range(61))))),
    "a field that another owner assigns": (OWNERS, "assigns what engine_publish.c owns",
                                           append("server/engine/engine_feed.c", "static void x(asset *a)\n{\n\ta->shown.rev = 1;\n}\n")),
    "a callback that does a job's work": (JOBS, "on_stored does more than to put an event",
                                          replace("server/engine/engine_finish.c", "\tsrv_job_put(piece->user, SRV_JOB_SAY(STORED));",
                                                  "\tsrv_job_put(piece->user, SRV_JOB_SAY(STORED));\n\tsrv_job_stored(piece->user);")),
    "a callback that acts": (JOBS, "on_pool_idle does more than to enqueue: srv_engine_dispatch",
                             replace("server/engine/engine_jobs.c", "\tsrv_engine_stir(user);", "\tsrv_engine_dispatch(user);")),
    "a callback that acts no more": (JOBS, "on_passed only enqueues now",
                                     replace("server/engine/engine_sources.c", "\t\tsrv_engine_pass_mark(engine, root, number, seen);",
                                             "\t\tsrv_engine_stir(engine);")),
    "a step that calls the next one": (JOBS, "which is for the turn",
                                       replace("server/engine/engine_cook.c", "return SRV_JOB_SAY(RECORDS);", "return srv_job_keep(job);")),
    "a flag beside the table": (JOBS, "the table of server/cook/job.c has it",
                                replace("server/engine/engine_jobs.h", "uint64_t place;", "bool abandoned;\n\tuint64_t place;")),
    "the same of the engine's": (OWNERS, "assigns what engine_jobs.c owns",
                                 append("server/engine/engine_move.c", "static void x(srv_engine *engine)\n{\n\tengine->jobs->count++;\n}\n")),
    "Markdown of 131 columns": (TEXT, "131 columns", append("README.md", "x" * 131 + "\n")),
    "a script of 121 columns": (TEXT, "121 columns", append("web/app/text.js", "// " + "x" * 118 + "\n")),
    "a line of C of 111 columns": (TEXT, "111 columns", append("core/hash/hash.h", "/* " + "x" * 105 + " */\n")),
    "a field torn from its type": (TEXT, "another line than its type", append("core/hash/hash.h", "struct x {\n\tuint32_t\n\t\ty;\n};\n")),
    "a string in small pieces": (TEXT, "a string broken into a piece", append("core/hash/hash.c", "const char *x = \"a long beginning \"\n\t\"end\";\n")),
    "a comment that names nothing": (TEXT, "begins with 'What'", append("core/hash/hash.h", "/* What it is. */\n")),
    "a surface that compares a standing": (TEXT, "compares a word of standings.def",
                                           append("server/cli/list.c", 'int x(const char *state)\n{\n\treturn strcmp(state, "broken");\n}\n')),
    "a setting without a name": (TEXT, "lods.max has no name", replace("web/app/text.js", "'lods.max': ['Maximum", "'lods.most': ['Maximum")),
    "a loop without a deadline": (TEXT, "polls without a deadline",
                                  append("tests/integration/test_roots.py", "\nwhile True:\n    pass\n")),
    "a page that is not what schema says": (DOCS, "docs/settings.md", append("docs/settings.md", "more\n")),
    "an expectation whose test is gone": (PROMISES, "there is no test_", replace("tests/EXPECTATIONS.md", "`test_", "`test_gone_")),
    "whitespace": (FORMAT, "core/hash/hash.h", append("core/hash/hash.h", "int  wide ( void ) ;\n")),
    "a misspelling": (SPELLING, "==> receive", append("core/hash/README.md", "reci" + "eve\n")),
    "a runtime that is no C++": (LANGUAGES, "core/runtime/rt_open.c", append("core/runtime/rt_open.c", "int *new_(void);\nstatic int class;\n")),
}
# Objects: (part, a word of the output, the source).
OBJECTS = {
    "core exports a name without prefix": ("core", "exports 'mesh_weld'", "int mesh_weld(void);\nint mesh_weld(void) { return 0; }\n"),
    "server exports a name without prefix": ("server", "exports 'start'", "int start(void);\nint start(void) { return 0; }\n"),
    "core opens files": ("core", "asks for 'fopen'", "#include <stdio.h>\nvoid *hob_x(void);\nvoid *hob_x(void) { return fopen(\"x\", \"r\"); }\n"),
    "core reads the clock": ("core", "asks for 'time'", "#include <time.h>\nlong hob_x(void);\nlong hob_x(void) { return (long)time(0); }\n"),
    "core calls a library elsewhere": ("core", "calls 'XML_Parse'", "int XML_Parse(void);\nint hob_x(void);\nint hob_x(void) { return XML_Parse(); }\n"),
}


def copy_tree(to):
    """Copies the files that git tracks, or an unpacked archive, into a new repository."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        for name in listed.stdout.split("\0"):
            if name and (ROOT / name).is_file() and not name.startswith(("tests/data/", "tests/fuzz/corpus/")):
                (to / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, to / name)
    else:
        shutil.copytree(ROOT, to, dirs_exist_ok=True, ignore=shutil.ignore_patterns("build", "node_modules"))
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=to, check=True)


def run(tree, command):
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False, env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    return done.returncode, done.stdout + done.stderr


def small(tree, folder, name):
    """A tree with one folder: slow lints need not read everything."""
    to = tree.parent / name
    shutil.copytree(tree / folder, to / folder)
    shutil.copytree(tree / "tests/lint", to / "tests/lint")
    shutil.copy2(tree / ".clang-format", to)
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=to, check=True)
    return to


def check_tree(tree, findings):
    trees = {SPELLING[0]: small(tree, "core/hash", "small"), LANGUAGES[0]: tree}
    trees[FORMAT[0]] = trees[SPELLING[0]]
    skipped = set()
    # Without LANGUAGES, which takes seconds: lint.runtime_languages already builds these files.
    for command in (LAYERS, OWNERS, TEXT, DOCS, PROMISES, FORMAT, SPELLING):
        code, said = run(trees.get(command[0], tree), command)
        if code == 77:
            skipped.add(command[0])
        elif code != 0:
            findings.append(f"{' '.join(command)}: {code} without a violation: {said.strip()[-300:]}")
    for what, (command, word, (names, put)) in TREE.items():
        at = trees.get(command[0], tree)
        if command[0] in skipped:
            continue
        before = {name: (at / name).read_bytes() for name in names if (at / name).exists()}
        put(at)
        subprocess.run(["git", "add", "-A"], cwd=at, check=True)
        code, said = run(at, command)
        if code == 0 or word not in said:
            findings.append(f"{what}: {' '.join(command)} says {code}: {said.strip()[-300:]}")
        for name in names:
            (at / name).unlink(missing_ok=True)
            if name in before:
                (at / name).write_bytes(before[name])
        subprocess.run(["git", "add", "-A"], cwd=at, check=True)


def check_objects(tree, build, findings):
    scratch = tree.parent / "build"
    good = {"core": "int hob_y(void);\nint hob_y(void) { return 0; }\n", "server": "int srv_y(void);\nint srv_y(void) { return 0; }\n"}

    def lint(sources, daemon="hob"):
        shutil.rmtree(scratch, ignore_errors=True)
        for part, text in sources.items():
            source = tree / part / "sample.c"
            source.write_text(text)
            place = scratch / f"CMakeFiles/{'hob' if part == 'core' else 'srv'}_sample.dir/{part}/sample.c.o"
            place.parent.mkdir(parents=True)
            subprocess.run(["cc", "-c", source, "-o", place], check=True)
        for program in ("hob", "hob-worker", "hob-worker-lean", "hob-thumbnail", "hob-exporter", "hob-git", "hob-lfs"):
            if (build / program).exists():
                (scratch / program).symlink_to(build / (daemon if program == "hob" else program))
        return run(tree, ["python3", "tests/lint/symbols.py", str(scratch)])

    code, said = lint(good)
    if code != 0:
        findings.append(f"tests/lint/symbols.py: {code} without a violation: {said.strip()[-300:]}")
    for what, (part, word, text) in OBJECTS.items():
        code, said = lint({**good, part: text})
        if code == 0 or word not in said:
            findings.append(f"{what}: tests/lint/symbols.py says {code}: {said.strip()[-300:]}")
    code, said = lint(good, daemon="hob-worker")
    if code == 0 or "hob: contains" not in said or "hob: links libassimp" not in said:
        findings.append(f"a daemon that links importers: tests/lint/symbols.py says {code}: {said.strip()[-300:]}")


def check_knots(tree, findings):
    """Two files: one calls the other, which calls back through a table."""
    place = tree.parent / "build/CMakeFiles/srv_knot.dir/server"
    place.mkdir(parents=True)

    def lint(back):
        for name, text in (("a", "int srv_b(int n);\nint srv_a(int n);\nint srv_a(int n) { static int (*const acts[])(int) = {srv_b}; return acts[n](n); }\n"),
                           ("b", f"int srv_a(int n);\nint srv_b(int n);\nint srv_b(int n) {{ return {back}; }}\n")):
            (tree / name).with_suffix(".c").write_text(text)
            subprocess.run(["cc", "-c", (tree / name).with_suffix(".c"), "-o", place / f"{name}.c.o"], check=True)
        return run(tree, ["python3", "tests/lint/knots.py", str(tree.parent / "build")])

    for back, expected in (("n", 0), ("srv_a(n - 1)", 1)):
        code, said = lint(back)
        if code != expected or ("a.c:srv_a b.c:srv_b" in said) != bool(expected):
            findings.append(f"tests/lint/knots.py says {code} of srv_b that returns {back}: {said.strip()[-300:]}")


def main():
    findings = []
    with tempfile.TemporaryDirectory(prefix="hob-lint-") as folder:
        tree = pathlib.Path(folder) / "tree"
        tree.mkdir()
        copy_tree(tree)
        check_tree(tree, findings)
        check_knots(tree, findings)
        check_objects(tree, pathlib.Path(sys.argv[1]).resolve(), findings)
    print("\n".join(findings) or f"violations: {len(TREE) + len(OBJECTS) + 1}, each seen by its lint")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
