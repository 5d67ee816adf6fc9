"""Small pictures of every order, palette, depth, orientation and marker, compared with Pillow: lossless ones exactly, JPEG within
3 of 255, or a note that names the difference."""
import io
import json
import struct
import subprocess
import zlib

from hobtest import DEADLINE, HOB, Scenario, main

from PIL import Image

WIDTH, HEIGHT = 7, 5
# Each column has its own colour, darker from row to row: all orders of rows and columns differ.
COLORS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (255, 200, 8), (16, 32, 64), (90, 0, 170)]


def pixel(x, y):
    return tuple(channel * (HEIGHT - y) // HEIGHT for channel in COLORS[x])


def alpha(x, y):
    return 255 - 40 * x - y


RGB = [[pixel(x, y) for x in range(WIDTH)] for y in range(HEIGHT)]
RGBA = [[(*pixel(x, y), alpha(x, y)) for x in range(WIDTH)] for y in range(HEIGHT)]
INDEX = [[(3 * x + y) % 5 for x in range(WIDTH)] for y in range(HEIGHT)]


def high_color(r, g, b, a=0):
    return struct.pack("<H", r >> 3 << 10 | g >> 3 << 5 | b >> 3 | (0x8000 if a >= 128 else 0))


# ---- TGA

def packets(pixels):
    """Runs of three equal ones and literals, across row ends."""
    out, at = b"", 0
    while at < len(pixels):
        run = 1
        while run < 128 and at + run < len(pixels) and pixels[at + run] == pixels[at]:
            run += 1
        out += bytes([127 + run]) + pixels[at] if run > 2 else bytes([0]) + pixels[at]
        at += run if run > 2 else 1
    return out


def tga(kind, bits, rows, descriptor, colors=b"", first=0, entries=0, entry_bits=0, runs=False, comment=b""):
    right, top = descriptor & 16, descriptor & 32
    rows = [row[::-1] if right else row for row in (rows if top else rows[::-1])]
    data = [value for row in rows for value in row]
    head = struct.pack("<BBBHHBHHHHBB", len(comment), 1 if colors else 0, kind + (8 if runs else 0), first, entries, entry_bits,
                       0, 0, WIDTH, HEIGHT, bits, descriptor)
    return head + comment + colors + (packets(data) if runs else b"".join(data))


def tga_files():
    bgr = [[bytes(p[::-1]) for p in row] for row in RGB]
    bgra = [[bytes((p[2], p[1], p[0], p[3])) for p in row] for row in RGBA]
    short = [[high_color(*p) for p in row] for row in RGB]
    grey = [[bytes([p[0]]) for p in row] for row in RGB]
    palette = b"".join(bytes(c[::-1]) for c in COLORS[:5])
    for name, corner in (("bl", 0), ("br", 0x10), ("tl", 0x20), ("tr", 0x30)):
        yield f"rgb_{name}.tga", tga(2, 24, bgr, corner)
        yield f"runs_{name}.tga", tga(2, 24, bgr, corner, runs=True)
        yield f"rgba_{name}.tga", tga(2, 32, bgra, corner | 8)
        yield f"map_{name}.tga", tga(1, 8, [[bytes([i]) for i in row] for row in INDEX], corner, palette, 0, 5, 24)
    yield "map_first.tga", tga(1, 8, [[bytes([i + 10]) for i in row] for row in INDEX], 0x20, palette, 10, 5, 24)
    yield "map_runs.tga", tga(1, 8, [[bytes([i]) for i in row] for row in INDEX], 0x20, palette, 0, 5, 24, runs=True)
    yield "short.tga", tga(2, 16, short, 0x20)
    yield "grey.tga", tga(3, 8, grey, 0x20)
    yield "grey_runs.tga", tga(3, 8, grey, 0, runs=True)
    yield "comment.tga", tga(2, 24, bgr, 0x20, comment=b"made by hand")


# ---- BMP

def bmp(bits, rows, down=False, colors=b"", header=40, how=0, masks=b"", used=0, data=None, old=False):
    if data is None:
        data = b"".join(row + bytes(-len(row) % 4) for row in (rows if down else rows[::-1]))
    if old:
        info = struct.pack("<IHHHH", 12, WIDTH, HEIGHT, 1, bits)
    else:
        info = struct.pack("<IiiHHIIiiII", header, WIDTH, -HEIGHT if down else HEIGHT, 1, bits, how, len(data), 0, 0, used, 0)
    info += masks
    info += bytes(max(0, header - len(info))) if not old else b""
    offset = 14 + len(info) + len(colors)
    return b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset) + info + colors + data


def indices(bits):
    rows = []
    for row in INDEX:
        value = 0
        for i in row:
            value = value << bits | (i % (1 << bits))
        unused = -len(row) * bits % 8
        rows.append((value << unused).to_bytes((len(row) * bits + 7) // 8, "big"))
    return rows


def bmp_files():
    bgr = [b"".join(bytes(p[::-1]) for p in row) for row in RGB]
    bgrx = [b"".join(bytes((*p[::-1], 0)) for p in row) for row in RGB]
    bgra = [b"".join(bytes((p[2], p[1], p[0], p[3])) for p in row) for row in RGBA]
    palette = b"".join(bytes((*c[::-1], 0)) for c in COLORS[:5])
    short = [b"".join(high_color(*p) for p in row) for row in RGB]
    for down in (False, True):
        way = "down" if down else "up"
        yield f"24_{way}.bmp", bmp(24, bgr, down)
        yield f"32_{way}.bmp", bmp(32, bgrx, down)
        yield f"8_{way}.bmp", bmp(8, indices(8), down, palette + bytes(4 * 251))
        yield f"4_{way}.bmp", bmp(4, indices(4), down, palette + bytes(4 * 11))
        yield f"1_{way}.bmp", bmp(1, indices(1), down, palette[:8])
        yield f"16_{way}.bmp", bmp(16, short, down)
    yield "8_few.bmp", bmp(8, indices(8), colors=palette, used=5)
    yield "old.bmp", bmp(24, bgr, old=True)
    five_six = [b"".join(struct.pack("<H", r >> 3 << 11 | g >> 2 << 5 | b >> 3) for r, g, b in row) for row in RGB]
    yield "565.bmp", bmp(16, five_six, how=3, masks=struct.pack("<III", 0xF800, 0x7E0, 0x1F))
    masks = struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    yield "v4_alpha.bmp", bmp(32, bgra, how=3, header=108, masks=masks)
    yield "v4_alpha_down.bmp", bmp(32, bgra, True, how=3, header=108, masks=masks)
    runs = b"".join(b"".join(bytes((1, i)) for i in row) + b"\0\0" for row in INDEX[::-1]) + b"\0\1"
    yield "runs.bmp", bmp(8, None, colors=palette + bytes(4 * 251), how=1, data=runs)


# ---- PNG

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(bits, kind, rows, more=b"", after=b""):
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, bits, kind, 0, 0, 0)) + more +
            chunk(b"IDAT", data) + after + chunk(b"IEND", b""))


def exif(turn, big):
    order = ">" if big else "<"
    return (b"MM\0*" if big else b"II*\0") + struct.pack(order + "IHHHIHHI", 8, 1, 274, 3, 1, turn, 0, 0)


def png_files():
    rgb = [b"".join(map(bytes, row)) for row in RGB]
    palette = chunk(b"PLTE", b"".join(map(bytes, COLORS[:5])))
    yield "rgb.png", png(8, 2, rgb), None
    yield "rgba.png", png(8, 6, [b"".join(map(bytes, row)) for row in RGBA]), None
    for bits in (1, 2, 4, 8):
        yield f"grey{bits}.png", png(bits, 0, indices(bits)), None
    for bits in (4, 8):
        yield f"map{bits}.png", png(bits, 3, indices(bits), palette), None
    yield "map_alpha.png", png(8, 3, indices(8), palette + chunk(b"tRNS", bytes((0, 50, 100)))), None
    yield "gamma.png", png(8, 2, rgb, chunk(b"gAMA", struct.pack(">I", 100000))), "texture.profile"
    yield "pq.png", png(8, 2, rgb, chunk(b"cICP", bytes((9, 16, 0, 1)))), "texture.profile"
    yield "pq_over_srgb.png", png(8, 2, rgb, chunk(b"sRGB", b"\0") + chunk(b"cICP", bytes((9, 18, 0, 1)))), "texture.profile"
    yield "cicp_srgb.png", png(8, 2, rgb, chunk(b"cICP", bytes((1, 13, 0, 1)))), None
    yield "turned.png", png(8, 2, rgb, chunk(b"eXIf", exif(6, True))), "texture.exif-turn"
    yield "turned_after.png", png(8, 2, rgb, after=chunk(b"eXIf", exif(3, False))), "texture.exif-turn"
    yield "upright.png", png(8, 2, rgb, chunk(b"eXIf", exif(1, True))), None


# ---- by Pillow

def smooth():
    image = Image.new("RGB", (48, 32))
    image.putdata([(5 * x, 7 * y, 255 - 4 * x) for y in range(32) for x in range(48)])
    return image


def saved(image, kind, **how):
    out = io.BytesIO()
    image.save(out, kind, **how)
    return out.getvalue()


def without_adobe(data):
    at = data.index(b"\xff\xee")
    return data[:at] + data[at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]:]


def jpeg_files():
    cmyk = saved(smooth().convert("CMYK"), "JPEG", quality=95)
    yield "rgb.jpg", saved(smooth(), "JPEG", quality=95, subsampling=0), None
    yield "sub.jpg", saved(smooth(), "JPEG", quality=95, subsampling=2), None
    yield "steps.jpg", saved(smooth(), "JPEG", quality=95, progressive=True), None
    yield "grey.jpg", saved(smooth().convert("L"), "JPEG", quality=95), None
    yield "cmyk_adobe.jpg", cmyk, None
    yield "cmyk.jpg", without_adobe(cmyk), None
    turned = Image.Exif()
    turned[274] = 8
    yield "turned.jpg", saved(smooth(), "JPEG", quality=95, subsampling=0, exif=turned.tobytes()), "texture.exif-turn"
    yield "turned.webp", saved(Image.frombytes("RGB", (WIDTH, HEIGHT), b"".join(bytes(p) for row in RGB for p in row)), "WEBP",
                               lossless=True, exif=turned.tobytes()), "texture.exif-turn"


def tiff_files():
    rgb = Image.frombytes("RGB", (WIDTH, HEIGHT), b"".join(bytes(p) for row in RGB for p in row))
    for turn in range(1, 9):
        yield f"turn{turn}.tif", saved(rgb, "TIFF", tiffinfo={274: turn})
    palette = rgb.convert("P", palette=Image.ADAPTIVE, colors=16)
    yield "map_turn8.tif", saved(palette, "TIFF", tiffinfo={274: 8})
    yield "map_turn3.tif", saved(palette, "TIFF", tiffinfo={274: 3})
    yield "packed_turn5.tif", saved(rgb, "TIFF", compression="tiff_lzw", tiffinfo={274: 5})


def model(name):
    corners = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0) + struct.pack("<6f", 0, 0, 1, 0, 0, 1)
    return json.dumps({
        "asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "scene": 0, "nodes": [{"mesh": 0}],
        "buffers": [{"byteLength": 60, "uri": "corners.bin"}],
        "bufferViews": [{"buffer": 0, "byteLength": 36}, {"buffer": 0, "byteOffset": 36, "byteLength": 24}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
                      {"bufferView": 1, "componentType": 5126, "count": 3, "type": "VEC2"}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "material": 0}]}],
        "materials": [{"alphaMode": "BLEND", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}], "images": [{"uri": name}]}), corners


class Table(Scenario):
    def cook(self, files):
        for name, data in files.items():
            text, corners = model(name)
            self.put(name, data)
            self.put("corners.bin", corners)
            self.put(name.replace(".", "_") + ".gltf", text)
        report = self.folder / "report.json"
        done = subprocess.run([HOB, "cook", self.art, "-o", self.folder / "out", "--quiet", "--report", report, "--settings",
                               json.dumps({"texture": {"encoding": "png"}})], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual(done.returncode, 0, done.stderr)
        pictures = {bytes.fromhex(path.stem): path for path in (self.folder / "out/textures").iterdir()}
        items = {item["path"]: item for item in json.loads(report.read_text())["assets"]}
        found = {}
        for name in files:
            model_name = name.replace(".", "_") + ".gltf"
            materials = (self.folder / "out" / (model_name + ".materials")).read_bytes()
            path = next(path for digest, path in pictures.items() if digest in materials)
            found[name] = Image.open(path).convert("RGBA"), {note["code"] for note in items[model_name].get("notes", [])}
        return found

    def test_lossless_pictures_are_equal(self):
        noted = {name: note for name, _, note in png_files() if note}
        files = {name: data for name, data, _ in png_files()} | dict(tga_files()) | dict(bmp_files()) | dict(tiff_files())
        for name, (picture, notes) in self.cook(files).items():
            wanted = Image.open(io.BytesIO(files[name]))
            wanted.load()
            with self.subTest(name):
                self.assertEqual(picture.size, wanted.size)
                self.assertEqual(list(picture.getdata()), list(wanted.convert("RGBA").getdata()))
                self.assertEqual(notes, {noted[name]} if name in noted else set())

    def test_jpeg_is_within_three(self):
        files = {name: data for name, data, _ in jpeg_files()}
        noted = {name: note for name, _, note in jpeg_files() if note}
        for name, (picture, notes) in self.cook(files).items():
            wanted = Image.open(io.BytesIO(files[name])).convert("RGB").convert("RGBA")
            with self.subTest(name):
                self.assertEqual(picture.size, wanted.size)
                off = sum(max(abs(a - b) for a, b in zip(p, q)) > 3 for p, q in zip(picture.getdata(), wanted.getdata()))
                self.assertLessEqual(off, picture.width * picture.height // 1000)
                self.assertEqual(notes, {noted[name]} if name in noted else set())

    def test_a_fourth_byte_that_is_zero_everywhere_is_no_alpha(self):
        bgr0 = [[bytes((*p[::-1], 0)) for p in row] for row in RGB]
        found = self.cook({"padded.tga": tga(2, 32, bgr0, 0x20), "clear.tga": tga(2, 32, bgr0, 0x28)})
        picture, notes = found["padded.tga"]
        self.assertEqual(set(picture.getchannel("A").getdata()), {255})
        self.assertEqual(notes, {"texture.empty-alpha"})
        picture, notes = found["clear.tga"]
        self.assertEqual((set(picture.getchannel("A").getdata()), notes), ({0}, set()))

    def test_the_table_has_sixty_pictures(self):
        count = sum(1 for files in (tga_files, bmp_files, png_files, jpeg_files, tiff_files) for _ in files())
        self.assertGreaterEqual(count, 60)


if __name__ == "__main__":
    main()
