#!/usr/bin/env python3
"""Checks documents and tests: lines of Markdown are at most 130 columns wide outside tables, lines of the web folder's scripts,
styles and pages 120 and lines of C 110 with tabs of four, no field of a struct stands on another line than its type, no string is
broken into pieces of a few characters, no comment begins with a word that names nothing (What, Who, Whose, Those, Of), every cook
setting has a name and a group on the pages, and no scenario polls without a deadline. Prints one line per finding; exits 1 if there is any."""
import ast
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLUMNS = 130
WEB_COLUMNS = 120
C_COLUMNS = 110
C_PIECE = 12  # minimum length of a string literal that continues on another line
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
C_TORN = re.compile(r"^[ \t]+(?!else\b|do\b|return\b)(?:(?:const|struct|enum|unsigned|static) )*[A-Za-z_]\w*(?: \*+)?\n"
                    r"[ \t]+\*{0,3}[A-Za-z_]\w*(?:\[[^\]]*\])*;", re.M)

VAGUE_WORD = re.compile(r"(?:/\*|//|#) ?(?:What|Who|Whose|Those|Of) ")
VAGUE = re.compile(r"(?:^|[^:\"'\w])(?:/\*|//|#) ?(What|Who|Whose|Those|Of) ")

LOOP = re.compile(r"^[ \t]*while\b(?:.*\n){0,9}?.*\b(?:pass|get|sync)\b", re.M)  # may be busy: parsing all scenarios takes long
STANDINGS = "|".join(re.findall(r'^STANDING\(\w+, "(\w+)"', (ROOT / "schema/standings.def").read_text(), re.M)) + "|stale|quarantined"
COMPARED = re.compile(rf"""strcmp\([^;]*(?:state|standing)[^;]*"(?:{STANDINGS})"\)|(?:state|standing)\)? [!=]== '(?:{STANDINGS})'""")
DECIDERS = {"server/cli/query.c", "web/app/ui.js"}


@functools.cache
def sources():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    return [ROOT / name for name in listed.stdout.splitlines()] if listed.returncode == 0 else [
        path for path in ROOT.rglob("*") if not {"node_modules", "build"} & set(path.relative_to(ROOT).parts)]


def tracked(ending):
    return [path for path in sources() if path.name.endswith(ending) and path.exists()]


@functools.cache
def read(path):
    return path.read_text()


def width(line):
    return len(line.expandtabs(4)) if "\t" in line else len(line)


def wide_lines(path):
    for number, line in enumerate(read(path).splitlines(), 1):
        if len(line) > COLUMNS and not line.lstrip().startswith("|"):
            yield f"{path.relative_to(ROOT)}:{number}: {len(line)} columns, more than {COLUMNS}"


def wide_web_lines(path):
    for number, line in enumerate(read(path).splitlines(), 1):
        if width(line) > WEB_COLUMNS:
            yield f"{path.relative_to(ROOT)}:{number}: {width(line)} columns, more than {WEB_COLUMNS}"


def vague_comments(path):
    if not VAGUE_WORD.search(read(path)):
        return
    for number, line in enumerate(read(path).splitlines(), 1):
        if found := VAGUE.search(line):
            yield f"{path.relative_to(ROOT)}:{number}: a comment that begins with '{found[1]}'; name the thing first"


def c_findings(path):
    text, name = read(path), path.relative_to(ROOT)
    for number, line in enumerate(text.splitlines(), 1):
        if width(line) > C_COLUMNS:
            yield f"{name}:{number}: {width(line)} columns, more than {C_COLUMNS}"
    for torn in C_TORN.finditer(text):
        yield f"{name}:{text.count(chr(10), 0, torn.end()) + 1}: a field on another line than its type; put its comment above"
    if not re.search(r'"\s*\n\s*"', text):
        return
    literals = [m for m in C_TOKEN.finditer(text) if m.group().startswith('"')]
    for one, next_one in zip(literals, literals[1:]):
        gap = text[one.end():next_one.start()]
        hexadecimal = re.search(r"\\x[0-9A-F]{2}\"$", one.group())  # "\xBF" "b": joined, they would be another number
        if "\n" in gap and not gap.strip() and not hexadecimal and any(
                len(piece.group()) - 2 < C_PIECE and not re.search(r"\\.\"$", piece.group()) for piece in (one, next_one)):
            yield f"{name}:{text.count(chr(10), 0, one.start()) + 1}: a string broken into a piece below {C_PIECE} characters"


def unnamed_settings():
    """Cook settings that the dashboard would show by their key, or under "Other"."""
    words = (ROOT / "web/app/text.js").read_text()
    groups, names = (words[words.index(mark):] for mark in ("\t\tgroups: ", "\tsettingNames: "))
    for key in re.findall(r'^SETTING\(.*?"([^"]+)"', "".join((ROOT / f"schema/{name}.def").read_text() for name in ("settings", "rules")), re.M):
        if not re.search(rf"[\s{{]'?{re.escape(key)}'?: \[", names):
            yield f"web/app/text.js: the setting {key} has no name in settingNames"
        if f"'{key}'" not in groups[:groups.index("},")]:
            yield f"web/app/text.js: the setting {key} is in no group"


def waits(call):
    """A call that blocks until an event or its own deadline."""
    name = getattr(call.func, "attr", "")
    return name.startswith(("wait", "readline")) or any(word.arg == "timeout" for word in call.keywords)


def is_busy(loop):
    """A loop that only polls: its body does nothing, or makes a request whose answer is not used."""
    calls = [node for node in ast.walk(loop) if isinstance(node, ast.Call)]
    idle = all(isinstance(statement, ast.Pass) or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
               and getattr(statement.value.func, "attr", "") in ("get", "sync")) for statement in loop.body)
    return idle and not any(waits(call) for call in calls)


def endless_loops(path):
    if not LOOP.search(read(path)):
        return
    for node in ast.walk(ast.parse(read(path))):
        if isinstance(node, ast.While) and is_busy(node):
            yield f"{path.relative_to(ROOT)}:{node.lineno}: polls without a deadline; use hobtest.until()"


def compared_standings(path):
    """The state of an asset is decided in server/view/names.c; other files call a function of one of DECIDERS and compare no
    word."""
    if path.relative_to(ROOT).as_posix() in DECIDERS:
        return
    for number, line in enumerate(read(path).splitlines(), 1):
        if COMPARED.search(line):
            yield f"{path.relative_to(ROOT)}:{number}: compares a word of standings.def; ask srv_cli_is_fresh or ui.js"


def main():
    findings = [finding for path in tracked(".md") for finding in wide_lines(path)]
    web = [path for ending in (".js", ".css", ".html", ".html.in", ".ts", ".tsx") for path in tracked(ending)
           if path.is_relative_to(ROOT / "web")]
    findings += [finding for path in web for finding in wide_web_lines(path)]
    findings += [finding for ending in (".c", ".h", ".cpp") for path in tracked(ending) for finding in c_findings(path)]
    findings += [finding for ending in (".c", ".h", ".cpp", ".def", ".js", ".mjs", ".py", ".sh") for path in tracked(ending)
                 for finding in vague_comments(path)]
    surfaces = [path for folder in ("server/cli", "server/http", "server/query", "web/app") for path in tracked("")
                if path.is_relative_to(ROOT / folder) and path.suffix in (".c", ".js")]
    findings += [finding for path in surfaces for finding in compared_standings(path)]
    findings += unnamed_settings()
    findings += [finding for path in (ROOT / "tests/integration").glob("*.py") for finding in endless_loops(path)]
    print("\n".join(findings) or "text: every line of Markdown and of web fits, every scenario has its deadlines")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
