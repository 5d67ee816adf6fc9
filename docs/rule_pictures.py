"""Pictures of the geometric rules, as SVG: at the left a model that keeps the rule, at the right one that breaks it, the fault in red."""

WIDE, HIGH = 150, 110
GREY, EDGE, RED, BLUE = "#cfd8e3", "#3b4a5a", "#d6303a", "#2f6fd0"
A, B, C, D = (25, 88), (125, 88), (102, 25), (48, 25)
SQUARE = ((30, 20), (110, 20), (110, 90), (30, 90))


def face(*points, fill=GREY, line=EDGE, see=1):
    return (f'<polygon points="{" ".join(f"{x},{y}" for x, y in points)}" fill="{fill}" fill-opacity="{see}" stroke="{line}" '
            'stroke-width="1.5" stroke-linejoin="round"/>')


def line(a, b, color=EDGE, wide=1.5, dash=""):
    return (f'<line x1="{a[0]}" y1="{a[1]}" x2="{b[0]}" y2="{b[1]}" stroke="{color}" stroke-width="{wide}"'
            + (f' stroke-dasharray="{dash}"' if dash else "") + "/>")


def dot(x, y, color=RED, size=4):
    return f'<circle cx="{x}" cy="{y}" r="{size}" fill="{color}"/>'


def arrow(a, b, color=BLUE):
    (x, y), (u, v) = a, b
    size = max(((u - x) ** 2 + (v - y) ** 2) ** 0.5, 1)
    dx, dy = (u - x) / size, (v - y) / size
    head = ((u, v), (u - 8 * dx - 4 * dy, v - 8 * dy + 4 * dx), (u - 8 * dx + 4 * dy, v - 8 * dy - 4 * dx))
    return line(a, (round(u - 6 * dx, 1), round(v - 6 * dy, 1)), color, 2) + face(*((round(p, 1), round(q, 1)) for p, q in head), fill=color, line=color)


def word(x, y, text, color=EDGE):
    return f'<text x="{x}" y="{y}" fill="{color}" font-family="sans-serif" font-size="12" text-anchor="middle">{text}</text>'


def frame(*parts):
    """The unit square of a picture."""
    return f'<rect x="35" y="15" width="80" height="80" fill="none" stroke="{EDGE}" stroke-dasharray="4 3"/>' + "".join(parts)


def pyramid(fill=GREY):
    return face(A, B, (75, 20), fill=fill) + line((75, 20), (88, 70)) + line(A, (88, 70)) + line((88, 70), B)


def strip(*heights):
    step = 110 / (len(heights) - 1)
    return "".join(line((round(20 + step * i), heights[i]), (round(20 + step * (i + 1)), heights[i + 1]), wide=2) for i in range(len(heights) - 1))


def box(x, y, wide, high):
    return face((x, y), (x + wide, y), (x + wide, y + high), (x, y + high))


def cross(x, y):
    return line((x - 7, y), (x + 7, y), BLUE, 2) + line((x, y - 7), (x, y + 7), BLUE, 2)


QUADS = face((25, 20), (75, 20), (75, 90), (25, 90)) + face((75, 20), (125, 20), (125, 90), (75, 90))
LEFT, RIGHT = ((45, 30), (70, 30), (45, 80)), ((75, 30), (105, 30), (105, 80))
PICTURES = {
    "mesh.degenerate": (face(A, B, C), face(A, B, C) + line((30, 100), (120, 100), RED, 3) + dot(30, 100) + dot(75, 100) + dot(120, 100)),
    "mesh.duplicate-faces": (face(A, B, C), face(A, B, C) + face((31, 80), (131, 80), (108, 17), fill=RED, see=0.5)),
    "mesh.open": (pyramid(), pyramid("none") + face(A, (75, 20), (88, 70)) + line(A, B, RED, 3) + line(B, (75, 20), RED, 3) + line((88, 70), B, RED, 3)),
    "mesh.non-manifold": (face((75, 15), (75, 75), (25, 90), (25, 30)) + face((75, 15), (75, 75), (125, 90), (125, 30)),
                          face((75, 15), (75, 75), (25, 90), (25, 30)) + face((75, 15), (75, 75), (125, 90), (125, 30))
                          + face((75, 15), (75, 75), (85, 104), (85, 44)) + line((75, 15), (75, 75), RED, 4)),
    "mesh.inside-out": (box(45, 30, 60, 50) + arrow((75, 30), (75, 6)) + arrow((105, 55), (135, 55)) + arrow((45, 55), (15, 55)),
                        box(45, 30, 60, 50) + arrow((75, 30), (75, 52), RED) + arrow((105, 55), (83, 55), RED) + arrow((45, 55), (67, 55), RED)),
    "mesh.interpenetrating": (face((20, 85), (60, 85), (40, 30)) + face((85, 85), (125, 85), (105, 30)),
                              face((25, 88), (95, 88), (60, 20)) + face((45, 75), (135, 60), (50, 40), see=0.7) + line((47, 55), (78, 51), RED, 3)),
    "mesh.loose": (face(A, B, C), face(A, B, C) + dot(30, 25) + dot(130, 45)),
    "mesh.no-normals": (strip(85, 50, 40, 50, 85) + "".join(arrow((x, y), (u, v)) for x, y, u, v in ((20, 85, 5, 65), (48, 50, 36, 26), (75, 40, 75, 12), (103, 50, 115, 26), (130, 85, 145, 65))),
                        strip(85, 50, 40, 50, 85) + word(75, 80, "?", RED)),
    "mesh.lods": (box(20, 40, 40, 50) + "".join(line((20 + x, 40), (20 + x, 90)) for x in (10, 20, 30)) + box(70, 40, 35, 50) + line((87, 40), (87, 90)) + box(115, 40, 25, 50),
                  "".join(face((20 + 26 * i, 40 + 26 * k), (40 + 26 * i, 40 + 26 * k), (20 + 26 * i, 60 + 26 * k), fill=RED if (i + k) % 2 else GREY) for i in range(4) for k in range(2))),
    "mesh.split-normals": (strip(85, 45, 45, 85) + "".join(arrow((x, y), (u, v)) for x, y, u, v in ((57, 45, 46, 18), (93, 45, 104, 18))),
                           strip(85, 45, 45, 85) + "".join(arrow((x, 45), (u, v), RED) for x, u, v in ((57, 30, 28), (57, 57, 14), (93, 93, 14), (93, 120, 28)))),
    "uv.missing": (frame(face(*LEFT), face(*RIGHT)), frame(word(75, 60, "?", RED))),
    "uv.outside": (frame(face(*LEFT), face(*RIGHT)), frame(face(*LEFT), face((85, 30), (135, 35), (105, 80), fill=RED, see=0.6))),
    "uv.overlap": (frame(face(*LEFT), face(*RIGHT)), frame(face((45, 25), (95, 30), (50, 85)), face((60, 40), (108, 35), (100, 85), see=0.7), face((60, 40), (79, 50), (69, 62), fill=RED))),
    "uv.margin": (frame(face((40, 25), (65, 25), (65, 85)), face((85, 25), (110, 25), (85, 85))),
                  frame(face((45, 25), (73, 25), (73, 85)), face((77, 25), (105, 25), (77, 85)), line((75, 20), (75, 90), RED, 3))),
    "uv.flipped": (frame(face((50, 80), (100, 80), (50, 30)), word(68, 72, "F")), frame(face((100, 80), (50, 80), (100, 30), fill=RED, see=0.6), f'<g transform="scale(-1 1) translate(-164 0)">{word(82, 72, "F")}</g>')),
    "uv.stretch": (face(*SQUARE) + "".join(line((30 + i, 20), (30 + i, 90)) for i in (20, 40, 60)) + "".join(line((30, 20 + i), (110, 20 + i)) for i in (17, 35, 52)),
                   face(*SQUARE) + "".join(line((30 + i, 20), (30 + i, 90), RED) for i in range(5, 80, 5)) + line((30, 55), (110, 55), RED)),
    "normal.map-flipped": (frame(f'<circle cx="75" cy="55" r="28" fill="{GREY}"/>', arrow((75, 55), (75, 22)), word(88, 40, "G")),
                           frame(f'<circle cx="75" cy="55" r="28" fill="{GREY}"/>', arrow((75, 55), (75, 88), RED), word(88, 75, "G", RED))),
    "texture.density": (QUADS + "".join(line((25 + i, 20), (25 + i, 90)) for i in range(10, 100, 10)) + "".join(line((25, 20 + i), (125, 20 + i)) for i in range(10, 70, 10)),
                        QUADS + "".join(line((25 + i, 20), (25 + i, 90)) for i in range(10, 50, 10)) + "".join(line((25, 20 + i), (75, 20 + i)) for i in range(10, 70, 10))
                        + line((75, 55), (125, 55), RED, 2) + line((100, 20), (100, 90), RED, 2)),
    "scene.size": (box(55, 45, 40, 45) + word(75, 105, "1 m"), box(5, 5, 140, 85) + word(75, 105, "1,000 m", RED)),
    "scene.origin": (box(50, 35, 50, 50) + cross(75, 85), box(90, 20, 50, 50) + cross(20, 95) + line((20, 95), (90, 70), RED, 2, "4 3")),
    "scene.scale": (box(50, 35, 50, 50) + word(75, 65, "1"), box(30, 20, 90, 80) + word(75, 65, "2", RED)),
    "scene.negative-scale": (box(45, 30, 60, 50) + word(75, 60, "R"), box(45, 30, 60, 50) + f'<g transform="scale(-1 1) translate(-150 0)">{word(75, 60, "R", RED)}</g>'),
    "scene.shear": (box(45, 30, 60, 50), face((60, 25), (130, 40), (90, 90), (20, 75), fill=RED, see=0.5)),
    "skin.unweighted": (strip(60, 40, 40, 60) + dot(20, 60, BLUE) + dot(57, 40, BLUE) + dot(93, 40, BLUE) + dot(130, 60, BLUE),
                        strip(60, 40, 95, 60) + dot(20, 60, BLUE) + dot(57, 40, BLUE) + dot(93, 95) + dot(130, 60, BLUE)),
}


def svg(rule):
    kept, broken = PICTURES[rule]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDE + 20}" height="{HIGH + 10}" viewBox="0 0 {2 * WIDE + 20} {HIGH + 10}">\n'
            f'<title>{rule}: kept, broken</title>\n<rect width="100%" height="100%" fill="#fff"/>\n<g>{kept}</g>\n'
            f'<g transform="translate({WIDE + 20} 0)">{broken}</g>\n{line((WIDE + 10, 10), (WIDE + 10, HIGH), "#ccd")}\n</svg>\n')
