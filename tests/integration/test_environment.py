"""Environment maps: the cook's result compared with sums over the picture itself."""
import json
import math
import os
import random
import shutil
import struct
import subprocess

from hobtest import DEADLINE, HOB, Scenario, main

WIDTH, HEIGHT, SIZE = 256, 128, 64


def direction(x, y, width=WIDTH, height=HEIGHT):
    turn, down = ((x + 0.5) / width - 0.5) * 2 * math.pi, (y + 0.5) / height * math.pi
    return math.cos(turn) * math.sin(down), math.cos(down), math.sin(turn) * math.sin(down)


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def light(d):
    """A sky, a dark ground, a lamp of 200 times their light, a window."""
    lamp = 200 if dot(d, (0.36, 0.8, 0.48)) > 0.99 else 0
    window = 5 if dot(d, (-0.8, 0, 0.6)) > 0.9 else 0
    return (0.4 + 0.3 * d[1] + lamp + window, 0.5 + 0.2 * d[0] + 0.9 * lamp + window,
            (1 if d[1] > 0 else 0.1) + 0.7 * lamp + 0.5 * window)


def rgbe(color):
    mantissa, exponent = math.frexp(max(color))
    scale = mantissa * 256 / max(color)
    return bytes([int(c * scale) for c in color] + [exponent + 128])


def value(code):
    return [0 if code[3] == 0 else math.ldexp(c + 0.5, code[3] - 136) for c in code[:3]]


def hdr(width=WIDTH, height=HEIGHT):
    pixels = [rgbe(light(direction(x, y, width, height))) for y in range(height) for x in range(width)]
    head = f"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {height} +X {width}\n".encode()
    return head + b"".join(pixels), pixels


def exr(colors):
    """OpenEXR without compression: a line each of B, G and R as half floats."""
    def attribute(name, kind, data):
        return name + b"\0" + kind + b"\0" + struct.pack("<I", len(data)) + data

    channels = b"".join(name + b"\0" + struct.pack("<4i", 1, 0, 1, 1) for name in (b"B", b"G", b"R")) + b"\0"
    box = struct.pack("<4i", 0, 0, WIDTH - 1, HEIGHT - 1)
    head = (struct.pack("<2I", 20000630, 2) + attribute(b"channels", b"chlist", channels) +
            attribute(b"compression", b"compression", b"\0") + attribute(b"dataWindow", b"box2i", box) +
            attribute(b"displayWindow", b"box2i", box) + attribute(b"lineOrder", b"lineOrder", b"\0") +
            attribute(b"pixelAspectRatio", b"float", struct.pack("<f", 1)) +
            attribute(b"screenWindowCenter", b"v2f", struct.pack("<2f", 0, 0)) +
            attribute(b"screenWindowWidth", b"float", struct.pack("<f", 1)) + b"\0")
    size, lines = 8 + 6 * WIDTH, []
    for y in range(HEIGHT):
        row = colors[y * WIDTH:(y + 1) * WIDTH]
        lines.append(struct.pack("<2i", y, 6 * WIDTH) + b"".join(struct.pack(f"<{WIDTH}e", *(c[k] for c in row)) for k in (2, 1, 0)))
    starts = [len(head) + 8 * HEIGHT + size * y for y in range(HEIGHT)]
    return head + struct.pack(f"<{HEIGHT}Q", *starts) + b"".join(lines)


def read_ktx2(data):
    """(VkFormat, side, faces, bytes of each level, 27 numbers), by the specification of KTX 2.0."""
    assert data[:12] == b"\xabKTX 20\xbb\r\n\x1a\n"
    vk, _, width, height, depth, layers, faces, levels, scheme = struct.unpack_from("<9I", data, 12)
    assert (width, depth, layers, scheme) == (height, 0, 0, 0)
    at, size = struct.unpack_from("<2I", data, 56)
    keys, end = {}, at + size
    while at < end:
        (length,) = struct.unpack_from("<I", data, at)
        name, _, rest = data[at + 4:at + 4 + length].partition(b"\0")
        keys[name.decode()] = rest
        at += (4 + length + 3) & ~3
    images = []
    for level in range(levels):
        start, stored, _ = struct.unpack_from("<3Q", data, 80 + 24 * level)
        images.append(data[start:start + stored])
    return vk, width, faces, images, struct.unpack("<27f", keys["HobIrradiance"])


def sampled(image, side, d):
    """The lookup in direction d by OpenGL's table of cube faces: the four texels around it, within the face."""
    x, y, z = d
    longest = max(abs(x), abs(y), abs(z))
    if abs(x) == longest:
        face, s, t = (0, -z, -y) if x > 0 else (1, z, -y)
    elif abs(y) == longest:
        face, s, t = (2, x, z) if y > 0 else (3, x, -z)
    else:
        face, s, t = (4, x, -y) if z > 0 else (5, -x, -y)
    across, down = (s / longest + 1) / 2 * side - 0.5, (t / longest + 1) / 2 * side - 0.5
    left, top = math.floor(across), math.floor(down)
    out = [0, 0, 0]
    for i in range(4):
        column, row = left + i % 2, top + i // 2
        weight = (1 - abs(across - column)) * (1 - abs(down - row))
        column, row = min(max(column, 0), side - 1), min(max(row, 0), side - 1)
        texel = struct.unpack_from("<4e", image, 8 * ((face * side + row) * side + column))
        out = [a + weight * b for a, b in zip(out, texel)]
    return out


class Environment(Scenario):
    @classmethod
    def setUpClass(cls):
        cls.file, codes = hdr()
        cls.pixels = []
        for i, code in enumerate(codes):
            x, y = i % WIDTH, i // WIDTH
            angle = 2 * math.pi / WIDTH * (math.cos(math.pi * y / HEIGHT) - math.cos(math.pi * (y + 1) / HEIGHT))
            cls.pixels.append((direction(x, y), angle, value(code)))

    def cook(self, **texture):
        settings = {"environment": {"cook": True, "size": SIZE}, "texture": texture}
        report = self.folder / "report.json"
        done = subprocess.run([HOB, "cook", "art", "-o", "out", "--quiet", "--timeout", f"{DEADLINE:.0f}", "--settings",
                               json.dumps(settings), "--report", str(report)], capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(report.read_text())

    def cube(self):
        files = list((self.folder / "out").rglob("*.ktx2"))
        self.assertEqual(len(files), 1, files)
        return files[0]

    def integral(self, roughness, n):
        """GGX around the reflection, as in schema/FORMATS.md, over every pixel of the picture."""
        a2 = roughness ** 4
        total, out = 0.0, [0.0, 0.0, 0.0]
        for l, angle, color in self.pixels:
            nl = dot(n, l)
            if nl <= 0:
                continue
            spread = (1 + nl) / 2 * (a2 - 1) + 1
            weight = nl * angle / (spread * spread)
            total += weight
            for k in range(3):
                out[k] += weight * color[k]
        return [c / total for c in out]

    def test_levels_are_the_integral_at_64_directions(self):
        self.put("studio.hdr", self.file)
        self.cook(encoding="rgba8", zstd=False)
        vk, side, faces, levels, _ = read_ktx2(self.cube().read_bytes())
        self.assertEqual((vk, side, faces, len(levels)), (97, SIZE, 6, 4))
        chance, off = random.Random(17), []
        for i in range(64):
            level = 1 + i % 3
            at = side >> level
            s, t = ((2 * chance.randrange(at) + 1) / at - 1 for _ in range(2))
            n = [(1, -t, -s), (-1, -t, s), (s, 1, t), (s, -1, -t), (s, -t, 1), (-s, -t, -1)][i % 6]
            n = [c / math.sqrt(dot(n, n)) for c in n]
            wanted = self.integral(1 - math.sqrt(1 - level / 3), n)
            got = sampled(levels[level], at, n)
            off += [abs(g - w) / w for g, w in zip(got, wanted)]
        if "HOB_SAY" in os.environ:
            print(f"64 directions: mean {sum(off) / len(off):.4f}, worst {max(off):.4f}")
        self.assertLess(sum(off) / len(off), 0.03)
        self.assertLess(max(off), 0.25)

    def test_irradiance_is_that_of_the_picture(self):
        """Compares with cosines summed over the picture: nine terms represent them within a few hundredths."""
        self.put("studio.hdr", self.file)
        self.cook(encoding="rgba8", zstd=False)
        terms = read_ktx2(self.cube().read_bytes())[4]
        brightest = 0
        pairs = []
        for n in [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1), (0.6, 0, 0.8), (0, 0.6, -0.8)]:
            x, y, z = n
            basis = [0.282095, 0.488603 * y, 0.488603 * z, 0.488603 * x, 1.092548 * x * y, 1.092548 * y * z,
                     0.315392 * (3 * z * z - 1), 1.092548 * x * z, 0.546274 * (x * x - y * y)]
            for k in range(3):
                wanted = sum(max(dot(n, l), 0) * angle * color[k] for l, angle, color in self.pixels)
                pairs.append((sum(b * terms[3 * i + k] for i, b in enumerate(basis)), wanted))
                brightest = max(brightest, wanted)
        worst = max(abs(got - wanted) for got, wanted in pairs) / brightest
        if "HOB_SAY" in os.environ:
            print(f"irradiance: worst {worst:.4f} of the brightest")
        self.assertLess(worst, 0.09)

    def test_bc6h_by_default_and_half_floats_in_a_preview(self):
        self.put("studio.hdr", self.file)
        self.cook(zstd=False)
        vk, side, faces, levels, _ = read_ktx2(self.cube().read_bytes())
        self.assertEqual((vk, faces, [len(level) for level in levels]), (143, 6, [6 * (side >> i) ** 2 for i in range(4)]))
        shown = subprocess.run([HOB, "inspect", "--validate", str(self.cube())], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)

    def test_pictures_are_left_alone_without_the_setting(self):
        self.put("studio.hdr", self.file)
        done = subprocess.run([HOB, "cook", "art", "-o", "out"], capture_output=True, text=True, cwd=self.folder)
        self.assertIn("environment.cook", done.stderr)
        self.assertEqual(list((self.folder / "out").rglob("*.ktx2")), [])

    def test_a_picture_of_another_shape_is_skipped_with_a_reason(self):
        self.put("square.hdr", hdr(16, 16)[0])
        self.put("studio.hdr", self.file)
        report = self.cook()
        self.assertEqual([a["path"] for a in report["assets"]], ["studio.hdr"], report)
        self.assertIn("twice as wide as high", json.dumps(report))

    def test_a_damaged_picture_fails_in_words(self):
        self.put("studio.hdr", self.file[:len(self.file) // 2])
        done = subprocess.run([HOB, "cook", "art", "-o", "out", "--settings", '{"environment":{"cook":true}}'],
                              capture_output=True, text=True, cwd=self.folder)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("studio.hdr", done.stderr)

    def test_openexr_gives_what_radiance_gives(self):
        self.put("studio.hdr", self.file)
        self.cook(encoding="rgba8", zstd=False)
        first = read_ktx2(self.cube().read_bytes())[4]
        self.put("studio.exr", exr([color for _, _, color in self.pixels]))
        (self.art / "studio.hdr").unlink()
        shutil.rmtree(self.folder / "out")
        self.cook(encoding="rgba8", zstd=False)
        second = read_ktx2(self.cube().read_bytes())[4]
        for a, b in zip(first, second):
            self.assertAlmostEqual(a, b, delta=0.01 * max(map(abs, first)))

    def test_a_daemon_serves_it_and_a_save_cooks_it_again(self):
        self.put("cook.json", json.dumps({"environment": {"cook": True, "size": 32}, "texture": {"encoding": "rgba8", "zstd": False}}))
        self.put("studio.hdr", hdr(32, 16)[0])
        with self.serve() as daemon:
            daemon.sync()
            first = daemon.blob("art/studio.hdr", "textures/0")
            self.assertEqual(read_ktx2(first)[:3], (97, 32, 6))
            self.put("studio.hdr", hdr(64, 32)[0])
            daemon.sync()
            self.assertNotEqual(daemon.blob("art/studio.hdr", "textures/0"), first)


if __name__ == "__main__":
    main()
