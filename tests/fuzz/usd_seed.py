"""Writes small crates of the same content, one per version, as seeds of fuzz_usd: usd_seed.py FOLDER. They contain LZ4 blocks of
literals, compressed integers, each kind of section, a list operation and time samples. Source: pxr/usd/usd/crateFile.cpp of
OpenUSD 24.08."""
import pathlib, struct, sys

VERSIONS = [(0, 0, 1), (0, 1, 0), (0, 2, 0), (0, 3, 0), (0, 4, 0), (0, 5, 0), (0, 6, 0), (0, 7, 0), (0, 8, 0), (0, 9, 0), (0, 10, 0),
            (0, 11, 0), (0, 12, 0)]

def lz4(data):
    """An LZ4 block of literals, after the byte that states that there is one block."""
    n, out = len(data), bytearray()
    if n < 15:
        out.append(n << 4)
    else:
        out.append(0xF0)
        rest = n - 15
        while rest >= 255:
            out.append(255); rest -= 255
        out.append(rest)
    return b"\0" + bytes(out) + data

def ints(values):
    """Integers as USD compresses them: all deltas as i32 (code 3); the common delta is 0."""
    codes, deltas, last = bytearray((len(values) * 2 + 7) // 8), b"", 0
    for i, v in enumerate(values):
        d = (v - last + 2**31) % 2**32 - 2**31
        last = v
        if d == 0: code = 0
        elif -128 <= d < 128: code = 1; deltas += struct.pack("<b", d)
        elif -32768 <= d < 32768: code = 2; deltas += struct.pack("<h", d)
        else: code = 3; deltas += struct.pack("<i", d)
        codes[i // 4] |= code << (i % 4 * 2)
    packed = lz4(struct.pack("<i", 0) + bytes(codes) + deltas)
    return struct.pack("<Q", len(packed)) + packed

class Crate:
    def __init__(self, version):
        self.version, self.sections = version, []
        self.tokens, self.fields, self.sets, self.data = [], [], [], bytearray(88)
        self.token("")
    def token(self, t):
        if t not in self.tokens: self.tokens.append(t)
        return self.tokens.index(t)
    def put(self, raw):
        while len(self.data) % 8: self.data += b"\0"
        at = len(self.data); self.data += raw
        return at
    def rep(self, kind, payload, array=False, inlined=False, packed=False):
        return array << 63 | inlined << 62 | packed << 61 | kind << 48 | payload
    def tok(self, t): return self.rep(11, self.token(t), inlined=True)
    def size(self, l):
        """The length of an array: in versions before 0.5 preceded by a rank, before 0.7 in four bytes instead of eight."""
        if self.version < (0, 5): return struct.pack("<II", 1, len(l))
        return struct.pack("<I" if self.version < (0, 7) else "<Q", len(l))
    def toks(self, l): return self.rep(11, self.put(self.size(l) + b"".join(struct.pack("<I", self.token(t)) for t in l)), array=True)
    def ints_(self, l):
        if len(l) < 16 or self.version < (0, 5): return self.rep(3, self.put(self.size(l) + struct.pack(f"<{len(l)}i", *l)), array=True)
        return self.rep(3, self.put(self.size(l) + ints(l)), array=True, packed=True)
    def vec3f(self, l): return self.rep(24, self.put(self.size(l) + b"".join(struct.pack("<3f", *v) for v in l)), array=True)
    def names(self, l):
        """A vector of tokens, for the fields primChildren and properties, in which OpenUSD looks up a spec's children."""
        return self.rep(41, self.put(struct.pack(f"<Q{len(l)}I", len(l), *map(self.token, l))))
    def list(self, l):
        """A list operation that prepends tokens; in versions before 0.2 it adds them."""
        return self.rep(32, self.put(struct.pack("<BQ", 4 if self.version < (0, 2) else 32, len(l)) + b"".join(struct.pack("<I", self.token(t)) for t in l)))
    def samples(self, times, reps):
        at = self.put(struct.pack(f"<Q{len(times)}d", len(times), *times))
        return self.rep(46, self.put(struct.pack(f"<qQqQ{len(reps)}Q", 8, self.rep(48, at), 8, len(reps), *reps)))
    def vec3(self, x, y, z): return self.rep(24, x & 255 | (y & 255) << 8 | (z & 255) << 16, inlined=True)
    def double(self, v): return self.rep(9, struct.unpack("<I", struct.pack("<f", v))[0], inlined=True)
    def section(self, name, raw): self.sections.append((name, self.put(raw), len(raw)))
    def spec(self, n): return self.rep(42, n, inlined=True)
    def field(self, name, rep):
        self.fields.append((self.token(name), rep)); return len(self.fields) - 1

def plain(c, sets, items):
    """Sections before 0.4: structs in the compiler's layout, with four bytes of padding first."""
    n, pad, section = len(items), b"\x5a\x5a\x5a\x5a", []
    padding = pad if c.version < (0, 1) else b""
    section.append(("FIELDS", struct.pack("<Q", len(c.fields)) + b"".join(pad + struct.pack("<IQ", t, r) for t, r in c.fields)))
    section.append(("FIELDSETS", struct.pack("<Q", len(sets)) + struct.pack(f"<{len(sets)}i", *sets)))
    for name, raw in section: c.section(name, raw)
    while len(c.data) % 8: c.data += b"\0"
    begin = len(c.data) + 8
    size = 12 + len(padding)
    offsets, at = [], begin
    for i in items:
        offsets.append(at)
        at += size + (8 if i[2] > 0 else 0)
    raw = struct.pack("<Q", n)
    for i, (name, is_property, jump, kind, fields) in enumerate(items):
        flags = (jump > 0 or jump == -1) | (jump >= 0) << 1 | is_property << 2
        raw += padding + struct.pack("<IIB3x", i, c.token(name), flags)
        if jump > 0: raw += struct.pack("<q", offsets[i + jump])
    c.section("PATHS", raw)
    starts, at = [], 0
    for i in items:
        starts.append(at); at += len(i[4]) + 1
    c.section("SPECS", struct.pack("<Q", n) + b"".join(padding + struct.pack("<III", i, starts[i], it[3]) for i, it in enumerate(items)))

def crate(version):
    c = Crate(version)
    quad = [(0,0,0),(1,0,0),(1,1,0),(0,1,0)]
    points = [(x + i * 2, y, z) for i in range(5) for x, y, z in quad]
    # path items in depth-first order: (path index, token, is property, jump), spec (type, fields)
    items = [("", False, -1, 7, [c.field("upAxis", c.tok("Z")), c.field("metersPerUnit", c.double(1)), c.field("defaultPrim", c.tok("W")), c.field("primChildren", c.names(["W"]))]),
             ("W", False, -1, 6, [c.field("specifier", c.spec(0)), c.field("typeName", c.tok("Xform")), c.field("apiSchemas", c.list(["SomeAPI"])), c.field("primChildren", c.names(["M"])),
                                 c.field("properties", c.names(["xformOp:translate", "xformOpOrder"]))]),
             ("M", False, 5, 6, [c.field("specifier", c.spec(0)), c.field("typeName", c.tok("Mesh")),
                                c.field("properties", c.names(["points", "faceVertexCounts", "faceVertexIndices", "subdivisionScheme"]))]),
             ("points", True, 0, 1, [c.field("typeName", c.tok("point3f[]")), c.field("default", c.vec3f(points))]),
             ("faceVertexCounts", True, 0, 1, [c.field("typeName", c.tok("int[]")), c.field("default", c.ints_([4]*5))]),
             ("faceVertexIndices", True, 0, 1, [c.field("typeName", c.tok("int[]")), c.field("default", c.ints_(list(range(20))))]),
             ("subdivisionScheme", True, -2, 1, [c.field("typeName", c.tok("token")), c.field("default", c.tok("none"))]),
             ("xformOp:translate", True, 0, 1, [c.field("typeName", c.tok("float3")), c.field("timeSamples", c.samples([0, 24], [c.vec3(0, 0, 0), c.vec3(3, 4, -5)]))]),
             ("xformOpOrder", True, -2, 1, [c.field("typeName", c.tok("token[]")), c.field("default", c.toks(["xformOp:translate"]))])]
    sets, starts = [], []
    for it in items:
        starts.append(len(sets)); sets += it[4] + [-1]
    for it in items: c.token(it[0])
    section = c.section
    text = b"".join(t.encode() + b"\0" for t in c.tokens)
    z = lz4(text)
    packed = struct.pack("<Q", len(z)) + z if version >= (0, 4) else text
    section("TOKENS", struct.pack("<QQ", len(c.tokens), len(text)) + packed)
    section("STRINGS", struct.pack("<Q", 0))
    if version < (0, 4): plain(c, sets, items)
    else: compressed(c, sets, starts, items)
    sections = c.sections
    toc = c.put(struct.pack("<Q", len(sections)) + b"".join(struct.pack("<16sqq", name.encode(), at, size) for name, at, size in sections))
    c.data[:88] = b"PXR-USDC" + bytes([*version, 0, 0, 0, 0, 0]) + struct.pack("<q", toc) + bytes(64)
    return bytes(c.data)

def compressed(c, sets, starts, items):
    section = c.section
    reps = lz4(b"".join(struct.pack("<Q", r) for _, r in c.fields))
    section("FIELDS", struct.pack("<Q", len(c.fields)) + ints([t for t, _ in c.fields]) + struct.pack("<Q", len(reps)) + reps)
    section("FIELDSETS", struct.pack("<Q", len(sets)) + ints(sets))
    n = len(items)
    section("PATHS", struct.pack("<QQ", n, n) + ints(list(range(n))) + ints([-c.token(i[0]) if i[1] else c.token(i[0]) for i in items]) + ints([i[2] for i in items]))
    section("SPECS", struct.pack("<Q", n) + ints(list(range(n))) + ints(starts) + ints([i[3] for i in items]))

for version in VERSIONS:
    name = "quads.usdc" if version == (0, 8, 0) else "quads_" + "_".join(map(str, version)) + ".usdc"
    (pathlib.Path(sys.argv[1]) / name).write_bytes(crate(version))
