#!/usr/bin/env python3
"""site.py OUT: the pages of this folder as a site in OUT/site, with nothing but Python. Its pages work from a disk, without a server.
A link that leads nowhere fails it. site.py --installed OUT: what an installation has in share/doc/hob: the site in html, these pages
as Markdown in docs, and beside them every file of the sources that a page names, at the place that it names."""
import html
import json
import os
import pathlib
import re
import shutil
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGES = {  # the site's navigation: file: (name in the site, title)
    "Start": {"docs/README.md": ("index", "What Hob is"), "docs/start-artists.md": ("start-artists", "For artists"),
              "docs/start-windows.md": ("start-windows", "Artists on Windows"), "docs/start-c.md": ("start-c", "C and C++"),
              "docs/start-threejs.md": ("start-threejs", "three.js"), "docs/start-python.md": ("start-python", "Python"),
              "docs/start-ci.md": ("start-ci", "Build servers")},
    "Understand": {"docs/concepts.md": ("concepts", "Concepts"), "docs/comparison.md": ("comparison", "Comparison"),
                   "docs/troubleshooting.md": ("troubleshooting", "Troubleshooting"), "CHANGELOG.md": ("changes", "Changes")},
    "Look up": {"docs/commands.md": ("commands", "Commands"), "docs/settings.md": ("settings", "Settings"), "docs/rules.md": ("rules", "Rules"),
                "docs/formats.md": ("formats", "Source formats"), "docs/http.md": ("http", "HTTP API"), "docs/metrics.md": ("metrics", "Metrics"),
                "schema/FORMATS.md": ("cooked", "Cooked files"), "docs/runtime.md": ("runtime", "Runtime"),
                "web/client/README.md": ("client", "JavaScript client"), "schema/REFERENCE.md": ("reference", "Reference converter")},
    "Run": {"docs/operations.md": ("operations", "Operations"), "docs/build-rules.md": ("build-rules", "Ninja and CMake"),
            "docs/ecosystem.md": ("ecosystem", "Vite, Godot, VS Code"),
            "docs/commits.md": ("commits", "Every commit"), "docs/farm.md": ("farm", "Many machines"), "docs/mirror.md": ("mirror", "Mirror roots"),
            "SECURITY.md": ("security", "Security")},
}
PAGES = {group: {name: page for name, page in pages.items() if (ROOT / name).exists()} for group, pages in PAGES.items()}
NAMES = {name: page[0] for pages in PAGES.values() for name, page in pages.items()}
# Pages too long for a phone become several, one for each group of second headings.
SPLIT = {"docs/http.md": lambda head: re.sub(r"^[A-Z]+ /(?:api/v1/)?([\w.-]*).*$|.*", r"\1", head) or ("page" if "/" in head else ""), "schema/FORMATS.md": lambda head: head}
KEYWORDS = {
    "c": "char const double else enum extern float for if include int long return size_t sizeof static struct switch case break uint32_t void while",
    "js": "async await const export for from function if import let new of return class extends static this throw typeof",
    "python": "as def for from if import in is not or and print return while with lambda None True False else class",
    "sh": "cd cp curl do done export fi for hob if in sudo then while",
    "groovy": "pipeline agent stages stage steps sh post always", "nginx": "server location proxy_pass proxy_buffering listen",
}
COMMENT = {"c": r"//[^\n]*|/\*.*?\*/", "js": r"(?<!:)//[^\n]*|/\*.*?\*/", "html": r"<!--.*?-->"}


def slug(head):
    return re.sub(r"[^\w -]", "", head.lower()).strip().replace(" ", "-")


def coloured(text, language):
    if language not in KEYWORDS and language not in ("json", "yaml", "html", "cmake", "ninja"):
        return html.escape(text, False)
    words, comment = "|".join(KEYWORDS.get(language, "true false null").split()), COMMENT.get(language, r"(?<![$#&\w])#[^\n]*")
    parts = re.compile(rf"(?P<c>{comment})|(?P<s>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')|"
                       rf"(?P<k>(?<![\w./-])(?:{words})(?![\w./-]))|(?P<n>(?<![\w.])\d[\d.]*\b)", re.S)
    out, at = [], 0
    for found in parts.finditer(text):
        out += [html.escape(text[at:found.start()], False), f"<span class={found.lastgroup}>{html.escape(found[0], False)}</span>"]
        at = found.end()
    return "".join(out) + html.escape(text[at:], False)


class Page:
    """One Markdown file; `parts` are the pages of the site that it becomes."""

    def __init__(self, site, name, title):
        self.site, self.name, self.title, self.base = site, name, title, NAMES[name]
        self.parts, self.anchors, self.lines = [], {}, (ROOT / name).read_text().splitlines()
        where, inside = self.base, False
        for line in self.lines:
            inside ^= line.lstrip().startswith("```")
            head = re.match(r"(#+) (.*)$", line) if not inside else None
            if head and len(head[1]) == 2 and name in SPLIT:
                group = slug(SPLIT[name](head[2].replace("`", "")))
                where = f"{self.base}-{group}" if group else self.base
            if head:
                self.anchors.setdefault(slug(head[2]), where)

    def place(self, target):
        path, _, anchor = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(self.name), path)) if path else self.name
        if file in self.site:
            known = self.site[file].anchors
            if anchor and anchor not in known:
                sys.exit(f"site.py: {self.name}: '{target}' leads nowhere")
            return f"{known[anchor] if anchor else NAMES[file]}.html" + (f"#{anchor}" if anchor else "")
        if not (ROOT / file).exists():
            sys.exit(f"site.py: {self.name}: '{target}' leads nowhere")
        return file.removeprefix("docs/") if re.search(r"\.(png|svg|gif)$", file) else None

    def link(self, found):
        words, target = found[1], found[2]
        place = target if re.match(r"https?:", target) else self.place(target)
        return f'<a href="{place}">{words}</a>' if place else words

    def inline(self, text):
        kept = []  # code, in which nothing else has a meaning

        def keep(found):
            kept.append(f"<code>{html.escape(found[1].strip(), False)}</code>")
            return f"\0{len(kept) - 1}\0"
        text = html.escape(re.sub(r"`+([^`]+)`+", keep, text.replace("\\|", "|")), False)
        text = re.sub(r"!\[([^\]]*)\]\(([^)\s]+)\)", lambda f: f'<img src="{self.place(f[2])}" alt="{f[1]}" loading="lazy">', text)
        text = re.sub(r"\[([^\]]+)\]\(([^)\s]+)\)", self.link, text)
        text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
        text = re.sub(r"(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])", r"<em>\1</em>", text)
        return re.sub(r"\0(\d+)\0", lambda f: kept[int(f[1])], text)

    def table(self, lines):
        rows = [[self.inline(cell.strip()) for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines if not re.match(r"^\|[\s:|-]+$", line)]
        heads = [html.escape(re.sub("<[^>]*>", "", cell)) for cell in rows[0]]
        out = "".join(f"<th>{cell}</th>" for cell in rows[0])
        body = "".join("<tr>" + "".join(f'<td data-head="{heads[i] if i < len(heads) else ""}">{cell}</td>' for i, cell in enumerate(row)) + "</tr>" for row in rows[1:])
        return f"<div class=wide><table><thead><tr>{out}</tr></thead><tbody>{body}</tbody></table></div>"

    def blocks(self, lines):
        """The HTML of lines, in blocks: (kind, text, HTML)."""
        at = 0
        while at < len(lines):
            line, start = lines[at], at
            fence, item = re.match(r"( *)```(\w*)$", line), re.match(r"(- |\d+\. )", line)
            at += 1
            if fence:
                while lines[at].strip() != "```":
                    at += 1
                code = "\n".join(each[len(fence[1]):] for each in lines[start + 1:at])
                at += 1
                yield "code", "", f"<pre tabindex=\"0\"><code>{coloured(code, fence[2])}</code></pre>"
            elif head := re.match(r"(#+) (.*)$", line):
                yield f"h{len(head[1])}", head[2], f'<h{len(head[1])} id="{slug(head[2])}">{self.inline(head[2])}</h{len(head[1])}>'
            elif line.startswith("|"):
                while at < len(lines) and lines[at].startswith("|"):
                    at += 1
                yield "table", " ".join(lines[start:at]), self.table(lines[start:at])
            elif item:
                items, tag = [], "ul" if item[1] == "- " else "ol"
                while True:
                    width = len(re.match(r"(- |\d+\. )", lines[start])[1])
                    while at < len(lines) and (lines[at].startswith("  ") or (not lines[at] and at + 1 < len(lines) and lines[at + 1].startswith("  "))):
                        at += 1
                    own = [lines[start][width:]] + [re.sub(rf"^ {{1,{max(width, 4)}}}", "", each) for each in lines[start + 1:at]]
                    inner = list(self.blocks(own))
                    items.append("<li>" + "".join(text if kind != "p" or len(inner) > 2 else text[3:-4] for kind, _, text in inner) + "</li>")
                    start = at + 1 if at + 1 < len(lines) and not lines[at] and re.match(r"(- |\d+\. )", lines[at + 1]) else at
                    if start >= len(lines) or not re.match(r"- " if tag == "ul" else r"\d+\. ", lines[start]):
                        break
                    at = start + 1
                yield "list", re.sub("<[^>]*>", " ", " ".join(items)), f"<{tag}>{''.join(items)}</{tag}>"
            elif re.match(r" {4}|\t", line):
                while at < len(lines) and (re.match(r" {4}|\t", lines[at]) or (not lines[at] and at + 1 < len(lines) and re.match(r" {4}|\t", lines[at + 1]))):
                    at += 1
                code = "\n".join(re.sub(r"^( {4}|\t)", "", each) for each in lines[start:at])
                yield "code", "", f"<pre tabindex=\"0\"><code>{coloured(code, 'js' if 'import ' in code else 'sh' if 'npm ' in code else '')}</code></pre>"
            elif line.strip() == "---":
                yield "rule", "", "<hr>"
            elif line.strip():
                while at < len(lines) and lines[at].strip() and not re.match(r"( *```|#+ |\||- |\d+\. )", lines[at]):
                    at += 1
                text = " ".join(each.strip() for each in lines[start:at])
                yield "p", text, f"<p>{self.inline(text)}</p>"

    def split(self):
        """The pages that it becomes: (name, title, HTML), and rows of the search."""
        pages, found, where = {self.base: [self.title, []]}, [], self.base
        row = [self.base, "", self.title, ""]
        for kind, text, body in self.blocks(self.lines):
            plain = re.sub(r"[`*|\[\]]|\]?\([^)\s]*\)|\s+-{3,}", " ", text)
            if kind in ("h1", "h2", "h3"):
                if kind == "h2" and self.name in SPLIT:
                    where = self.anchors[slug(text)]
                    name = SPLIT[self.name](text.replace("`", ""))
                    if where not in pages:
                        pages[where] = [f"{self.title}: {name}", [f"<h1>{html.escape(name)}</h1>" if self.base == "http" else ""]]
                found.append(row)
                row = [where, slug(text), text.replace("`", ""), ""]
            else:
                row[3] += " " + plain
            pages[where][1].append(body)
        return [(name, title, "".join(body)) for name, (title, body) in pages.items()], [*found, row]


def navigation(site, current, base, parts):
    out = []
    for group, pages in PAGES.items():
        out.append(f"<p>{group}</p><ul>")
        for name, (page, title) in pages.items():
            here = ' aria-current="page"' if page == current else ""
            out.append(f'<li><a href="{page}.html"{here}>{title}</a>')
            if page == base and len(parts) > 1:
                out.append("<ul>" + "".join(f'<li><a href="{part}.html"{" aria-current=page" if part == current else ""}>{html.escape(head.partition(": ")[2] or "Overview")}</a>'
                                            for part, head, _ in parts[1:]) + "</ul>")
            out.append("</li>")
        out.append("</ul>")
    return "".join(out)


def install(out):
    """docs with its pictures, and what the pages name. Programs in C there find installed headers."""
    for name in NAMES:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, out / name)
    shutil.rmtree(out / "docs/pictures", ignore_errors=True)
    (out / "html/pictures").rename(out / "docs/pictures")
    (out / "html/pictures").symlink_to("../docs/pictures")
    for name in sorted({found for page in NAMES for found in re.findall(r"`((?:core|docker|docs|schema|tests|web)/[\w./-]+)`", (ROOT / page).read_text())}):
        named = ROOT / name
        for file in [named] if named.is_file() else named.rglob("*"):
            if not file.is_file() or "node_modules" in file.parts or "__pycache__" in file.parts:
                continue
            to = out / file.relative_to(ROOT)
            to.parent.mkdir(parents=True, exist_ok=True)
            if file.suffix in (".c", ".h", ".cpp"):
                to.write_text(re.sub(r'#include "[./]*(?:core/)?(?:client/|runtime/)?(hob_(?:client|runtime)[.]h)"', r"#include <\1>", file.read_text()))
            elif file.resolve() != to.resolve():
                shutil.copyfile(file, to)


def main(*words):
    installed, out = words[0] == "--installed", pathlib.Path(words[-1])
    here, place = ROOT / "docs", out / ("html" if installed else "site")
    shutil.rmtree(out if installed else place, ignore_errors=True)
    place.mkdir(parents=True)
    site = {}
    for pages in PAGES.values():
        for name, (_, title) in pages.items():
            site[name] = Page(site, name, title)
    template, rows = (here / "site/page.html").read_text(), []
    for page in site.values():
        parts, found = page.split()
        rows += found
        for name, title, body in parts:
            filled = {"title": html.escape(title), "body": body, "nav": navigation(site, name, page.base, parts), "front": " class=front" if name == "index" else ""}
            (place / f"{name}.html").write_text(re.sub(r"\{\{(\w+)\}\}", lambda f, known=filled: known[f[1]], template))
    index = [[where, anchor, html.unescape(head), re.sub(r"\s+", " ", text).strip()[:1500]] for where, anchor, head, text in rows]
    (place / "search.js").write_text("window.hobPages = " + json.dumps(index, ensure_ascii=False, separators=(",", ":")) + ";\n")
    (place / "site.css").write_text((ROOT / "web/app/style/base.css").read_text() + (here / "site/site.css").read_text())
    shutil.copy(here / "site/site.js", place)
    shutil.copy(ROOT / "web/app/icon.svg", place)
    shutil.copytree(here / "pictures", place / "pictures")
    for file in place.glob("*.html"):  # what is written is what is linked
        for target in re.findall(r'(?:href|src)="([^":]+)"', file.read_text()):
            name, _, anchor = target.partition("#")
            there = place / name if name else file
            if not there.exists() or (anchor and f'id="{anchor}"' not in there.read_text()):
                sys.exit(f"site.py: {file.name}: '{target}' leads nowhere")
    if installed:
        install(out)
    print(place / "index.html")


if __name__ == "__main__":
    main(*sys.argv[1:])
