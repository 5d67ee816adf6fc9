#!/usr/bin/env python3
"""generate.py: generates docs/settings.md, docs/http.md and docs/formats.md from schema/. --check tells whether they are up to date."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(cell(item) for item in row) + " |" for row in rows]) + "\n"


def entries(name, text):
    """The arguments of NAME(...) in a .def file, texts without their quotes."""
    for line in re.findall(rf"^{name}\((.*)\)$", text, re.M):
        yield [part[1:-1] if part[0] == '"' else part for part in re.findall(r"\"(?:[^\"\\]|\\.)*\"|'.'|[^,\s]+", line)]


def settings():
    cook, daemon = (ROOT / f"schema/{name}.def" for name in ("settings", "config"))
    cook, daemon = cook.read_text(), daemon.read_text()
    choices = {}
    for field, _, name in entries("SETTING_CHOICE", cook):
        choices.setdefault(field, []).append(name)

    def values(field, kind, initial, least, most):
        if kind == "text":
            return f"text of at most {int(float(most))} bytes", ""
        if kind == "flag":
            return "true, false", "true" if initial == "1" else "false"
        if kind == "choice":
            return ", ".join(choices[field]), choices[field][int(initial)]
        return f"{least.removesuffix('.0')} to {most.removesuffix('.0')}", initial

    rows = [(f"`{path}`", *values(field, kind, initial, least, most), doc)
            for field, kind, path, initial, least, most, doc in entries("SETTING", cook)]
    keys = [(f"`{path}`", f"`{option}`", f"`{variable}`", initial or "-", doc)
            for _, _, path, variable, option, _, _, initial, doc in entries("CONFIG", daemon)]
    return ("# Settings\nPrinted by `docs/generate.py` from `schema/settings.def` and `schema/config.def`: change those.\n\n"
            "## How models are cooked\nIn `defaults` and `options` of `hob.json`, in a folder's `cook.json`, in `MODEL.cook.json`, and in\n"
            "`hob cook --settings`. `lods.max` is written `{ \"lods\": { \"max\": 4 } }`. The nearest wins; `hob why` tells where each comes "
            "from.\n\n"
            "```json\n{ \"lods\": { \"max\": 4, \"error\": 0.02 }, \"vertices\": \"quantized\", \"texture\": { \"quality\": \"good\" } }\n```\n\n"
            + table(("setting", "values", "default", "what it does"), rows)
            + "\n## The daemon\nKeys of `hob.json`, each with its option of `hob serve` and its variable. Later sources win: default, `hob.json`, "
            "variable,\noption. `hob config` shows what counts.\n\n"
            "```json\n{ \"server\": { \"listen\": \"127.0.0.1:7780\" }, \"cache\": { \"max_size\": \"20 GiB\" }, \"log\": { \"format\": \"json\" } }\n```\n\n"
            + table(("key", "option", "variable", "default", "what it does"), keys))


def shown(schema):
    kind = schema.get("type", "")
    return ", ".join(schema["enum"]) if "enum" in schema else " or ".join(kind) if isinstance(kind, list) else kind


def http():
    api = json.loads((ROOT / "schema/openapi.json").read_text())

    def at(item):
        while "$ref" in item:
            found = api
            for part in item["$ref"].split("/")[1:]:
                found = found[part]
            item = found
        return item

    out = ["# HTTP\nPrinted by `docs/generate.py` from `schema/openapi.json`, which a daemon serves at `/openapi.json`: change that.\n\n"
           "Errors are `application/problem+json` with `detail` and `hint`. Where the daemon asks for tokens: `Authorization: Bearer TOKEN`.\n\n"
           "```sh\nhob serve art/ &\nhob get art/spot.obj --wait 60 -o /tmp/spot.meshes\n"
           "curl -sf http://127.0.0.1:7780/api/v1/assets > assets.json\n"
           "curl -sf http://127.0.0.1:7780/a/art/spot.obj -o spot.meshes\n```\n"]
    for path, item in api["paths"].items():
        shared = item.get("parameters", [])
        for method in ("get", "head", "post", "put", "patch", "delete"):
            if method not in item:
                continue
            what = item[method]
            out.append(f"\n## `{method.upper()} {path}`\n{what.get('summary', '')}.\n")
            rows = [(f"`{p['name']}`", p["in"], shown(at(p.get("schema", {}))), p.get("description", ""))
                    for p in map(at, shared + what.get("parameters", []))]
            if rows:
                out.append("\n" + table(("parameter", "in", "values", "what it does"), rows))
            answers = [(code, at(answer).get("description", "")) for code, answer in sorted(what["responses"].items())]
            out.append("\n" + table(("answer", "when"), answers))
    return "".join(out)


def formats():
    rows = [row for row in entries("READ_FORMAT", (ROOT / "schema/read_formats.def").read_text())]
    out = ["# What Hob reads\nPrinted by `docs/generate.py` from `schema/read_formats.def`: change that. `hob formats exr` tells the same.\n\n"
           "What is lost is noted for each file that has it. Optional libraries may be left out of a build: an error names them then.\n"]
    for kind, heading in (("model", "Models"), ("picture", "Pictures")):
        own = [(name, endings.replace(" ", ", "), reader, kept, lost or "-", tested)
               for is_kind, endings, reader, name, kept, lost, tested in rows if is_kind == kind]
        out.append(f"\n## {heading}\n\n" + table(("format", "endings", "reader", "kept", "lost", "tested with files of"), own))
    return "".join(out)


def main():
    stale = []
    for name, text in (("settings.md", settings()), ("http.md", http()), ("formats.md", formats())):
        if "--check" not in sys.argv:
            (DOCS / name).write_text(text)
        elif (DOCS / name).read_text() != text:
            stale.append(name)
    if stale:
        print(f"docs/{' and docs/'.join(stale)} differ from schema/: run docs/generate.py")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
