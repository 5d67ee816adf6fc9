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
    """Packets of RLE: runs of three equal pixels and literals, across row ends."""
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


# ---- kinds and chunks that the tables above lack: name, bytes, note or None, right picture (None: as Pillow decodes it)

def grid(rows):
    image = Image.new("RGBA", (WIDTH, HEIGHT))
    image.putdata([(*p, 255)[:4] for row in rows for p in row])
    return image


def grey_of(p):
    return p[0] * 2 // 3 + p[1] // 3


GREY = [[grey_of(p) for p in row] for row in RGB]
GREY_GRID = grid([[(v, v, v) for v in row] for row in GREY])
RGB_GRID, RGBA_GRID = grid(RGB), grid(RGBA)
MAP_GRID = grid([[COLORS[i] for i in row] for row in INDEX])


def wide(row):
    return b"".join(struct.pack(">H", value * 257) for value in row)


def flat(row):
    return [value for p in row for value in p]


def woven(bits, kind, rows):
    """The rows as the seven passes of Adam7 interlacing."""
    data = b""
    for x0, y0, dx, dy in ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)):
        for y in range(y0, HEIGHT, dy):
            taken = [rows[y][x] for x in range(x0, WIDTH, dx)]
            if taken and isinstance(taken[0], tuple):
                data += b"\0" + bytes(flat(taken))
            elif taken:
                value = 0
                for i in taken:
                    value = value << bits | i % (1 << bits)
                data += b"\0" + (value << -len(taken) * bits % 8).to_bytes((len(taken) * bits + 7) // 8, "big")
    return data


def filtered(rows, bpp):
    """The rows, with the five filters of PNG in turn."""
    data, above = b"", bytes(len(rows[0]))
    for y, row in enumerate(rows):
        kind = (0, 1, 2, 3, 4)[y % 5]
        data += bytes([kind])
        for i, value in enumerate(row):
            a, b = row[i - bpp] if i >= bpp else 0, above[i]
            c = above[i - bpp] if i >= bpp else 0
            paeth = min((a, b, c), key=lambda v: (abs(a + b - c - v), (a, b, c).index(v)))
            data += bytes([(value - (0, a, b, (a + b) // 2, paeth)[kind]) % 256])
        above = row
    return data


def png_of(bits, kind, data, interlace=0, before=(), parts=1):
    packed = zlib.compress(data)
    cut = -(-len(packed) // parts)
    chunks = list(before) + [(b"IDAT", packed[i:i + cut]) for i in range(0, len(packed), cut)] + [(b"IEND", b"")]
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, bits, kind, 0, 0, interlace))
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunk(*c) for c in chunks)


def plain(rows):
    return b"".join(b"\0" + row for row in rows)


def more_png_files():
    rgb = [bytes(flat(row)) for row in RGB]
    rgba = [bytes(flat(row)) for row in RGBA]
    palette = (b"PLTE", b"".join(map(bytes, COLORS[:5])))
    deep = "texture.depth"
    yield "grey16.png", png_of(16, 0, plain(map(wide, GREY))), deep, GREY_GRID
    yield "rgb16.png", png_of(16, 2, plain(wide(flat(row)) for row in RGB)), deep, RGB_GRID
    yield "rgba16.png", png_of(16, 6, plain(wide(flat(row)) for row in RGBA)), deep, RGBA_GRID
    both = [[(GREY[y][x], alpha(x, y)) for x in range(WIDTH)] for y in range(HEIGHT)]
    with_alpha = grid([[(v, v, v, a) for v, a in row] for row in both])
    yield "ga8.png", png_of(8, 4, plain(bytes(flat(row)) for row in both)), None, with_alpha
    yield "ga16.png", png_of(16, 4, plain(wide(flat(row)) for row in both)), deep, with_alpha
    yield "woven_rgb.png", png_of(8, 2, woven(8, 2, RGB), 1), None, RGB_GRID
    yield "woven_rgba.png", png_of(8, 6, woven(8, 6, RGBA), 1), None, RGBA_GRID
    yield "woven_map4.png", png_of(4, 3, woven(4, 3, INDEX), 1, [palette]), None, MAP_GRID
    yield "woven_grey1.png", png_of(1, 0, woven(1, 0, INDEX), 1), None, None
    yield "filters_rgb.png", png_of(8, 2, filtered(rgb, 3)), None, RGB_GRID
    yield "filters_rgba.png", png_of(8, 6, filtered(rgba, 4)), None, RGBA_GRID
    yield "filters_deep.png", png_of(16, 2, filtered([wide(flat(row)) for row in RGB], 6)), deep, RGB_GRID
    yield "parts.png", png_of(8, 2, plain(rgb), parts=7), None, RGB_GRID
    clear = [[(*p, 0 if p == COLORS[2] else 255) for p in row] for row in RGB]
    yield "key_rgb.png", png_of(8, 2, plain(rgb), 0, [(b"tRNS", struct.pack(">HHH", *COLORS[2]))]), None, grid(clear)
    keyed = [[(v, v, v, 0 if v == GREY[0][3] else 255) for v in row] for row in GREY]
    yield "key_grey.png", png_of(8, 0, plain(map(bytes, GREY)), 0, [(b"tRNS", struct.pack(">H", GREY[0][3]))]), None, grid(keyed)
    yield "key_grey16.png", png_of(16, 0, plain(map(wide, GREY)), 0, [(b"tRNS", struct.pack(">H", GREY[0][3] * 257))]), deep, grid(keyed)
    yield "key_map2.png", png_of(2, 3, plain(indices(2)), 0, [palette, (b"tRNS", bytes((255, 0, 9)))]), None, None
    yield "map1.png", png_of(1, 3, plain(indices(1)), 0, [palette]), None, None
    yield "chunks.png", png_of(8, 2, plain(rgb), 0, [(b"sBIT", b"\5\6\5"), (b"bKGD", bytes(6)), (b"pHYs", struct.pack(">IIB", 1, 2, 0)),
                                                    (b"tEXt", b"Title\0x"), (b"tIME", bytes(7)), (b"abCd", b"?")]), None, RGB_GRID


def more_tga_files():
    short = [[high_color(*p) for p in row] for row in RGB]
    five = grid([[tuple((v >> 3) * 255 // 31 for v in p) for p in row] for row in RGB])
    both = [[bytes((GREY[y][x], alpha(x, y))) for x in range(WIDTH)] for y in range(HEIGHT)]
    maps = [[bytes([i]) for i in row] for row in INDEX]
    bgra = b"".join(bytes((*c[2::-1], 200 - i)) for i, c in enumerate(COLORS[:5]))
    yield "runs_rgba.tga", tga(2, 32, [[bytes((p[2], p[1], p[0], p[3])) for p in row] for row in RGBA], 0x28, runs=True), None, RGBA_GRID
    yield "runs_short.tga", tga(2, 16, short, 0, runs=True), None, five
    yield "five.tga", tga(2, 15, short, 0x20), None, five
    yield "grey_alpha.tga", tga(3, 16, both, 0x28), None, grid([[(v, v, v, a) for v, a in row] for row in both])
    yield "map_bgra.tga", tga(1, 8, maps, 0x28, bgra, 0, 5, 32), None, grid([[(*COLORS[i], 200 - i) for i in row] for row in INDEX])
    yield "map_short.tga", tga(1, 8, maps, 0x20, b"".join(high_color(*c) for c in COLORS[:5]), 0, 5, 16), None, grid(
        [[tuple((v >> 3) * 255 // 31 for v in COLORS[i]) for i in row] for row in INDEX])


def more_bmp_files():
    palette = b"".join(bytes((*c[::-1], 0)) for c in COLORS[:5])
    bgr0 = [b"".join(bytes((*p[::-1], 0)) for p in row) for row in RGB]
    four = [b"".join(struct.pack("<H", (p[3] >> 4) << 12 | (p[0] >> 4) << 8 | (p[1] >> 4) << 4 | p[2] >> 4) for p in row) for row in RGBA]
    yield "4444.bmp", bmp(16, four, how=3, header=108, masks=struct.pack("<IIII", 0xF00, 0xF0, 0xF, 0xF000)), None, grid(
        [[tuple((v >> 4) * 17 for v in p) for p in row] for row in RGBA])
    yield "masks.bmp", bmp(32, bgr0, how=3, masks=struct.pack("<III", 0xFF0000, 0xFF00, 0xFF)), None, RGB_GRID
    swapped = [b"".join(bytes((*p, 0)) for p in row) for row in RGB]
    yield "masks_swapped.bmp", bmp(32, swapped, how=3, masks=struct.pack("<III", 0xFF, 0xFF00, 0xFF0000)), None, RGB_GRID
    yield "v5.bmp", bmp(24, [b"".join(bytes(p[::-1]) for p in row) for row in RGB], header=124), None, RGB_GRID
    absolute = b"".join(b"\0\7" + bytes(row) + b"\0\0\0" for row in INDEX[::-1]) + b"\0\1"
    yield "absolute.bmp", bmp(8, None, colors=palette + bytes(4 * 251), how=1, data=absolute), None, MAP_GRID
    pairs = b""
    for row in INDEX[::-1]:
        nibbles = row + [0]
        pairs += b"\0\7" + bytes(nibbles[i] << 4 | nibbles[i + 1] for i in range(0, 8, 2)) + b"\0\0"
    yield "runs4.bmp", bmp(4, None, colors=palette + bytes(4 * 11), how=2, data=pairs + b"\0\1"), None, MAP_GRID
    info = struct.pack("<IHHHH", 12, WIDTH, HEIGHT, 1, 8)
    three = b"".join(bytes(c[::-1]) for c in COLORS[:5]) + bytes(3 * 251)
    data = b"".join(bytes(row) + b"\0" for row in INDEX[::-1])
    offset = 14 + len(info) + len(three)
    yield "old_map.bmp", b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset) + info + three + data, None, MAP_GRID


def more_tiff_files():
    rgb = RGB_GRID.convert("RGB")
    for how in ("tiff_lzw", "tiff_adobe_deflate", "tiff_deflate", "packbits"):
        yield f"{how}.tif", saved(rgb, "TIFF", compression=how), None, RGB_GRID
    yield "predictor.tif", saved(rgb, "TIFF", compression="tiff_lzw", tiffinfo={317: 2}), None, RGB_GRID
    yield "rgba.tif", saved(RGBA_GRID, "TIFF"), None, RGBA_GRID
    yield "grey.tif", saved(rgb.convert("L"), "TIFF"), None, None
    bits = rgb.convert("1")
    for how in ("raw", "group3", "group4", "packbits"):
        yield f"bits_{how}.tif", saved(bits, "TIFF", compression=how), None, bits.convert("RGBA")
    yield "cmyk.tif", saved(rgb.convert("CMYK"), "TIFF"), None, rgb.convert("CMYK").convert("RGB").convert("RGBA")
    deep = Image.frombytes("I;16", (WIDTH, HEIGHT), b"".join(struct.pack("<H", v * 257) for row in GREY for v in row))
    yield "grey16.tif", saved(deep, "TIFF"), "texture.depth", GREY_GRID


def gif_files():
    palette = MAP_GRID.convert("RGB").convert("P", palette=Image.ADAPTIVE, colors=8)
    yield "plain.gif", saved(palette, "GIF", interlace=0), None, MAP_GRID
    yield "woven.gif", saved(palette, "GIF", interlace=1), None, MAP_GRID
    hidden = palette.getpixel((0, 0))
    wanted = grid([[(*COLORS[i], 0 if i == INDEX[0][0] else 255) for i in row] for row in INDEX])
    yield "clear.gif", saved(palette, "GIF", transparency=hidden), None, wanted
    yield "frames.gif", saved(palette, "GIF", save_all=True, append_images=[palette.transpose(Image.FLIP_LEFT_RIGHT)]), None, MAP_GRID


def pnm_files():
    bits = [[i % 2 for i in row] for row in INDEX]
    bit_grid = grid([[(0, 0, 0) if i else (255, 255, 255) for i in row] for row in bits])

    def words(rows):
        return "\n".join(" ".join(map(str, row)) for row in rows).encode()

    head = f"# by hand\n{WIDTH} # wide\n{HEIGHT}\n".encode()
    packed = b"".join(bytes([int("".join(map(str, row)) + "0", 2)]) for row in bits)
    yield "p1.pbm", b"P1\n" + head + words(bits), None, bit_grid
    yield "p2.pgm", b"P2\n" + head + b"255\n" + words(GREY), None, GREY_GRID
    yield "p3.ppm", b"P3\n" + head + b"255\n" + words(map(flat, RGB)), None, RGB_GRID
    yield "p4.pbm", b"P4\n" + head + packed, None, bit_grid
    yield "p5.pgm", b"P5\n" + head + b"255\n" + b"".join(map(bytes, GREY)), None, GREY_GRID
    yield "p6.ppm", b"P6\n" + head + b"255\n" + b"".join(bytes(flat(row)) for row in RGB), None, RGB_GRID
    yield "p6_wide.ppm", b"P6\n" + head + b"65535\n" + b"".join(wide(flat(row)) for row in RGB), "texture.depth", RGB_GRID


def psd_files():
    planes = [bytes(p[c] for row in RGB for p in row) for c in range(3)]
    head = b"8BPS" + struct.pack(">H6xHIIHH", 1, 3, HEIGHT, WIDTH, 8, 3) + bytes(12)
    runs = [bytes([WIDTH - 1]) + plane[y * WIDTH:(y + 1) * WIDTH] for plane in planes for y in range(HEIGHT)]
    yield "raw.psd", head + b"\0\0" + b"".join(planes), None, RGB_GRID
    yield "runs.psd", head + b"\0\1" + b"".join(struct.pack(">H", len(run)) for run in runs) + b"".join(runs), None, RGB_GRID
    grey = b"8BPS" + struct.pack(">H6xHIIHH", 1, 1, HEIGHT, WIDTH, 8, 1) + bytes(12)
    yield "grey.psd", grey + b"\0\0" + b"".join(map(bytes, GREY)), None, GREY_GRID


def dds_files():
    def dds(bits, flags, masks, rows):
        pitch = WIDTH * bits // 8
        head = struct.pack("<IIIIIII44x", 124, 0x100F, HEIGHT, WIDTH, pitch, 0, 0)
        head += struct.pack("<IIIIIIII", 32, flags, 0, bits, *masks) + struct.pack("<IIIII", 0x1000, 0, 0, 0, 0)
        return b"DDS " + head + b"".join(rows)
    bgra = [b"".join(bytes((p[2], p[1], p[0], p[3])) for p in row) for row in RGBA]
    yield "bgra.dds", dds(32, 0x41, (0xFF0000, 0xFF00, 0xFF, 0xFF000000), bgra), None, RGBA_GRID
    yield "bgrx.dds", dds(32, 0x40, (0xFF0000, 0xFF00, 0xFF, 0), bgra), None, RGB_GRID
    yield "rgba.dds", dds(32, 0x41, (0xFF, 0xFF00, 0xFF0000, 0xFF000000), [bytes(flat(row)) for row in RGBA]), None, RGBA_GRID


def webp_files():
    yield "lossless.webp", saved(RGB_GRID.convert("RGB"), "WEBP", lossless=True), None, RGB_GRID
    yield "alpha.webp", saved(RGBA_GRID, "WEBP", lossless=True, exact=True), None, RGBA_GRID


LOSSLESS = (more_png_files, more_tga_files, more_bmp_files, more_tiff_files, gif_files, pnm_files, psd_files, dds_files, webp_files)


def segment(data, kind, body, at=2):
    return data[:at] + bytes([255, kind]) + struct.pack(">H", len(body) + 2) + body + data[at:]


def adobe(data, transform):
    """The file with an Adobe marker that states this colour transform."""
    return segment(data if b"Adobe" not in data else without_adobe(data), 0xEE, b"Adobe" + struct.pack(">HHHB", 100, 0, 0, transform))


def without_jfif(data):
    return data[:2] + data[4 + struct.unpack(">H", data[4:6])[0]:] if data[2:4] == b"\xff\xe0" else data


def named(data, names):
    """The file with these component ids in SOF0 and SOS."""
    data = bytearray(data)
    for marker, first, step in ((b"\xff\xc0", 10, 3), (b"\xff\xda", 5, 2)):
        at = data.index(marker)
        for i, name in enumerate(names):
            data[at + first + step * i] = name
    return bytes(data)


def more_jpeg_files():
    full, odd = saved(smooth(), "JPEG", quality=95, subsampling=0), smooth().crop((3, 2, 20, 15))
    cmyk = saved(smooth().convert("CMYK"), "JPEG", quality=95)
    yield "422.jpg", saved(smooth(), "JPEG", quality=95, subsampling=1), None
    for sub in (0, 1, 2):
        yield f"odd{sub}.jpg", saved(odd, "JPEG", quality=95, subsampling=sub), None
        yield f"odd_steps{sub}.jpg", saved(odd, "JPEG", quality=95, subsampling=sub, progressive=True), None
    yield "one.jpg", saved(smooth().crop((5, 5, 6, 6)), "JPEG", quality=95), None
    yield "coarse.jpg", saved(smooth(), "JPEG", quality=20, subsampling=0), None
    yield "optimal.jpg", saved(smooth(), "JPEG", quality=95, optimize=True), None
    yield "grey_steps.jpg", saved(smooth().convert("L"), "JPEG", quality=95, progressive=True), None
    yield "cmyk_steps.jpg", saved(smooth().convert("CMYK"), "JPEG", quality=95, progressive=True), None
    yield "ycck.jpg", adobe(cmyk, 2), None
    yield "adobe_rgb.jpg", adobe(without_jfif(full), 0), None
    yield "adobe_ycc.jpg", adobe(without_jfif(full), 1), None
    yield "named_rgb.jpg", named(without_jfif(full), b"RGB"), None
    yield "no_jfif.jpg", without_jfif(full), None
    yield "ids_from_0.jpg", named(full, (0, 1, 2)), None
    yield "comment.jpg", segment(segment(full, 0xFE, b"by hand"), 0xED, b"Photoshop 3.0\0"), None
    yield "fill.jpg", full.replace(b"\xff\xdb", b"\xff\xff\xff\xdb"), None
    yield "tail.jpg", full + b"trailing bytes", None
    for turn in range(1, 9):
        exif_of = Image.Exif()
        exif_of[274] = turn
        yield f"turn{turn}.jpg", saved(odd, "JPEG", quality=95, subsampling=0, exif=exif_of.tobytes()), (
            "texture.exif-turn" if turn > 1 else None)
    yield "lossy.webp", saved(smooth(), "WEBP", quality=90), None
    yield "jpeg.tif", saved(smooth(), "TIFF", compression="jpeg"), None


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

    def test_more_lossless_pictures_are_equal(self):
        table = [entry for files in LOSSLESS for entry in files()]
        found = self.cook({name: data for name, data, _, _ in table})
        for name, data, note, wanted in table:
            picture, notes = found[name]
            with self.subTest(name):
                wanted = wanted or Image.open(io.BytesIO(data)).convert("RGBA")
                self.assertEqual(picture.size, wanted.size)
                self.assertEqual(list(picture.getdata()), list(wanted.getdata()))
                self.assertEqual(notes, {note} if note else set())

    def test_jpeg_is_within_three(self):
        table = [*jpeg_files(), *more_jpeg_files()]
        files = {name: data for name, data, _ in table}
        noted = {name: note for name, _, note in table if note}
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

    def test_the_table_has_160_pictures(self):
        names = [entry[0] for files in (tga_files, bmp_files, png_files, jpeg_files, tiff_files, more_jpeg_files, *LOSSLESS)
                 for entry in files()]
        self.assertEqual(len(names), len(set(names)))
        self.assertGreaterEqual(len(names), 160)


if __name__ == "__main__":
    main()
