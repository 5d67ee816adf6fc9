"""Writes a small crate as a seed of fuzz_usd: usd_seed.py OUT.usdc. Version 0.8: LZ4 blocks of literals, integers as they are packed,
one of each kind of section. Source: pxr/usd/usd/crateFile.cpp of OpenUSD 24.08."""
import struct, sys

def lz4(data):
    """One block of literals only, and the byte that says that one block follows."""
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
    """Deltas, all as i32 (code 3); the common one is 0."""
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
    def __init__(self):
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
    def toks(self, l): return self.rep(11, self.put(struct.pack("<Q", len(l)) + b"".join(struct.pack("<I", self.token(t)) for t in l)), array=True)
    def ints_(self, l):
        if len(l) < 16: return self.rep(3, self.put(struct.pack("<Q", len(l)) + struct.pack(f"<{len(l)}i", *l)), array=True)
        return self.rep(3, self.put(struct.pack("<Q", len(l)) + ints(l)), array=True, packed=True)
    def vec3f(self, l): return self.rep(24, self.put(struct.pack("<Q", len(l)) + b"".join(struct.pack("<3f", *v) for v in l)), array=True)
    def double(self, v): return self.rep(9, struct.unpack("<I", struct.pack("<f", v))[0], inlined=True)
    def spec(self, n): return self.rep(42, n, inlined=True)
    def field(self, name, rep):
        self.fields.append((self.token(name), rep)); return len(self.fields) - 1

def crate():
    c = Crate()
    quad = [(0,0,0),(1,0,0),(1,1,0),(0,1,0)]
    points = [(x + i * 2, y, z) for i in range(5) for x, y, z in quad]
    # path items in depth-first order: (path index, token, is property, jump), spec (type, fields)
    items = [("", False, -1, 7, [c.field("upAxis", c.tok("Z")), c.field("metersPerUnit", c.double(1)), c.field("defaultPrim", c.tok("W"))]),
             ("W", False, -1, 6, [c.field("specifier", c.spec(0)), c.field("typeName", c.tok("Xform"))]),
             ("M", False, -1, 6, [c.field("specifier", c.spec(0)), c.field("typeName", c.tok("Mesh"))]),
             ("points", True, 0, 1, [c.field("typeName", c.tok("point3f[]")), c.field("default", c.vec3f(points))]),
             ("faceVertexCounts", True, 0, 1, [c.field("typeName", c.tok("int[]")), c.field("default", c.ints_([4]*5))]),
             ("faceVertexIndices", True, 0, 1, [c.field("typeName", c.tok("int[]")), c.field("default", c.ints_(list(range(20))))]),
             ("subdivisionScheme", True, -2, 1, [c.field("typeName", c.tok("token")), c.field("default", c.tok("none"))])]
    sets, starts = [], []
    for it in items:
        starts.append(len(sets)); sets += it[4] + [-1]
    for it in items: c.token(it[0])
    sections = []
    def section(name, raw): sections.append((name, c.put(raw), len(raw)))
    text = b"".join(t.encode() + b"\0" for t in c.tokens)
    z = lz4(text)
    section("TOKENS", struct.pack("<QQQ", len(c.tokens), len(text), len(z)) + z)
    section("STRINGS", struct.pack("<Q", 0))
    reps = lz4(b"".join(struct.pack("<Q", r) for _, r in c.fields))
    section("FIELDS", struct.pack("<Q", len(c.fields)) + ints([t for t, _ in c.fields]) + struct.pack("<Q", len(reps)) + reps)
    section("FIELDSETS", struct.pack("<Q", len(sets)) + ints(sets))
    n = len(items)
    section("PATHS", struct.pack("<QQ", n, n) + ints(list(range(n))) + ints([-c.token(i[0]) if i[1] else c.token(i[0]) for i in items]) + ints([i[2] for i in items]))
    section("SPECS", struct.pack("<Q", n) + ints(list(range(n))) + ints(starts) + ints([i[3] for i in items]))
    toc = c.put(struct.pack("<Q", len(sections)) + b"".join(struct.pack("<16sqq", name.encode(), at, size) for name, at, size in sections))
    c.data[:88] = b"PXR-USDC" + bytes([0, 8, 0, 0, 0, 0, 0, 0]) + struct.pack("<q", toc) + bytes(64)
    return bytes(c.data)

open(sys.argv[1], "wb").write(crate())
