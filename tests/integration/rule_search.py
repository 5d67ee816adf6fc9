"""Faults of a mesh by plain search in whole numbers and fractions: the reference of the geometric rules."""
from fractions import Fraction
from itertools import combinations


def minus(a, b):
    return tuple(x - y for x, y in zip(a, b))


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def stretches(points, uvs, most):
    """Whether the map from the picture stretches more than `most` in one direction: its singular values, squared, have the sum and the
    product of the trace and the determinant of J^T J."""
    (p, q, r), (a, b, c) = points, [tuple(map(Fraction, uv)) for uv in uvs]
    area = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
    if area == 0:
        return False
    e, f = minus(q, p), minus(r, p)
    s = [(x * (c[1] - a[1]) - y * (b[1] - a[1])) / area for x, y in zip(e, f)]
    t = [(y * (b[0] - a[0]) - x * (c[0] - a[0])) / area for x, y in zip(e, f)]
    total, product = dot(s, s) + dot(t, t), dot(s, s) * dot(t, t) - dot(s, t) ** 2
    return total > 0 and total ** 2 * most ** 2 > product * (1 + most ** 2) ** 2


def faults(points, uvs, faces, most=4):
    """Rule: count."""
    corners = [[points[i] for i in face] for face in faces]
    whole = [any(cross(minus(b, a), minus(c, a))) for a, b, c in corners]
    kept = [i for i in range(len(faces)) if whole[i] and not any(whole[k] and set(corners[k]) == set(corners[i]) for k in range(i))]
    edges = {frozenset(pair) for i in kept for pair in combinations(corners[i], 2)}
    users = [sum(edge <= set(corners[i]) for i in kept) for edge in edges]
    closed = kept and set(users) == {2}
    ways = [(corners[i][k], corners[i][(k + 1) % 3]) for i in kept for k in range(3)]
    twisted = {way for way in ways if ways.count(way) > 1}
    used = {i for face in faces for i in face}
    turned = [(uvs[b][0] - uvs[a][0]) * (uvs[c][1] - uvs[a][1]) - (uvs[c][0] - uvs[a][0]) * (uvs[b][1] - uvs[a][1]) > 0 for a, b, c in faces]
    return {"mesh.degenerate": whole.count(False), "mesh.duplicate-faces": whole.count(True) - len(kept), "mesh.open": users.count(1),
            "mesh.non-manifold": sum(count > 2 for count in users), "uv.flipped": turned.count(True),
            "mesh.inside-out": len(twisted) or int(sum(dot(corners[i][0], cross(*corners[i][1:])) for i in kept) < 0) if closed else 0,
            "uv.outside": sum(not all(0 <= x <= 1 for x in uvs[i]) for i in used),
            "uv.stretch": sum(stretches([points[i] for i in face], [uvs[i] for i in face], most) for face in faces)}
