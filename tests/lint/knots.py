#!/usr/bin/env python3
"""knots.py BUILD: finds cycles of function calls across files of core and server. Calls, and addresses of functions that are
passed on, come from the objects (objdump). A table of functions counts as calls of all its entries. Prints one line per cycle;
exits 1 if there is any."""
import pathlib
import re
import subprocess
import sys

PART = re.compile(r"\.(part|cold|constprop|isra)\b.*")


def dump(options, paths):
    """The output of objdump for each path, from one process: starting one takes longer than reading a file."""
    text = subprocess.run(["objdump", *options, *paths], capture_output=True, text=True, check=True).stdout
    return [part.split("\n", 1)[1] for part in re.split(r"^\S.*:     file format ", text, flags=re.M)[1:]]


def read(text):
    """Functions by section and address, and the edges of each: a name, or a section and an address."""
    places, edges, current, section = {}, [], None, ""
    for line in text.splitlines():
        if line[:1] in "\t ":
            if "R_" in line:
                edges.append((current, line.split()[-1]))
            elif line.endswith(">") and ("call" in line or "jmp" in line):
                if match := re.search(r"\b(?:call|jmp)\s+[0-9a-f]+ <([^>+]+)>", line):
                    edges.append((current, match[1]))
        elif match := re.match(r"Disassembly of section (\S+):", line):
            section = match[1]
        elif match := re.match(r"([0-9a-f]+) <([^>]+)>:", line):
            current = PART.sub("", match[2])
            places.setdefault(section, []).append((int(match[1], 16), current))
    return places, edges


def split(target):
    """A relocation's name and its offset."""
    match = re.match(r"(.*?)(?:([-+])0x([0-9a-f]+))?$", target)
    return match[1], int(match[2] + match[3], 16) if match[3] else 0


def read_symbols(text):
    """The exported functions, and the objects that hold addresses: section, begin, end, name, and the targets of their relocations."""
    symbols, *relocations = text.split("RELOCATION RECORDS FOR [")
    tables = [(m[2], int(m[1], 16), int(m[1], 16) + int(m[3], 16), m[4], []) for m in re.finditer(
        r"^([0-9a-f]+) .{7} (\.data\S*)\s+([0-9a-f]+) (?:\.\w+ )?(\S+)$", symbols, flags=re.M)]
    for block in relocations:
        if not block.startswith(".data"):
            continue
        section = block[:block.index("]")]
        for match in re.finditer(r"^([0-9a-f]+) R_\w+\s+(\S+)", block, flags=re.M):
            for place, begin, end, _, entries in tables:
                if place == section and begin <= int(match[1], 16) < end:
                    entries.append(match[2])
    return re.findall(r"^[0-9a-f]+ g.{6} \.text\S*\s+[0-9a-f]+ (?:\.\w+ )?(\S+)$", symbols, flags=re.M), tables


def entries_of(target, tables):
    name, offset = split(target)
    for section, begin, end, table, entries in tables:
        if name == table or (name == section and begin <= offset + 4 < end):
            yield from entries


def find(target, name, places, known):
    """The function that a relocation names, as (file, function)."""
    base, at = split(target)
    base = PART.sub("", base)
    if base in known or (name, base) in known:
        return known.get(base) or (name, base)
    for start, function in places.get(base, ()):
        if start in (at, at + 4):  # data names the address itself, code one four bytes after it
            return name, function
    return None


def loops(graph):
    """Strongly connected components over several files (Tarjan, without recursion)."""
    order, low, stack, on = {}, {}, [], set()
    for root in sorted(graph):
        work = [(root, iter(()))] if root not in order else []
        while work:
            node, targets = work[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                stack.append(node)
                on.add(node)
                work[-1] = node, (targets := iter(sorted(graph.get(node, ()))))
            child = next((t for t in targets if t not in order or t in on), None)
            if child is not None and child not in order:
                work.append((child, iter(())))
            elif child is not None:
                low[node] = min(low[node], order[child])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == order[node]:
                    at = stack.index(node)
                    found, stack[at:] = stack[at:], []
                    on -= set(found)
                    if len({file for file, _ in found}) > 1:
                        yield sorted(found)


def main():
    objects = {}
    for path in pathlib.Path(sys.argv[1], "CMakeFiles").rglob("*.o"):
        if match := re.search(r"\.dir/((?:core|server)/.*)\.o$", str(path)):
            objects.setdefault(match[1], path)
    known, parts, graph = {}, {}, {}
    names = list(objects)
    for first in range(0, len(names), 64):
        some = names[first:first + 64]
        paths = [objects[name] for name in some]
        for name, code, rest in zip(some, dump(["-dr", "--no-show-raw-insn", "-w"], paths), dump(["-tr"], paths), strict=True):
            exported, tables = read_symbols(rest)
            parts[name] = *read(code), tables
            known.update({function: (name, function) for function in exported})
            known.update({(name, function): True for section in parts[name][0].values() for _, function in section})
    for name, (places, edges, tables) in parts.items():
        tabled = [(function, entry) for function, target in edges if target[0] == "." or "+" not in target
                  for entry in entries_of(target, tables)]
        for function, target in edges + tabled:
            called = find(target, name, places, known)
            if called and called != (name, function):
                graph.setdefault((name, function), set()).add(called)
    findings = [f"{len(found)} functions call each other in a circle: " + " ".join(f"{pathlib.Path(file).name}:{function}" for file, function in found)
                for found in loops(graph)]
    print("\n".join(findings) if findings else f"knots: {len(graph)} functions of {len(objects)} files, no circle over several files")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
