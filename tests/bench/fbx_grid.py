"""A binary FBX 7.4 file of one grid with normals and texture coordinates: fbx_grid.py OUT SIDE makes 2 * SIDE * SIDE triangles."""
import array
import math
import struct
import sys
import zlib


class Id(int):
    """Object ids are 64 bits wide, other integers 32."""


def value(v):
    if isinstance(v, bytes):
        return b'S' + struct.pack('<I', len(v)) + v
    if isinstance(v, array.array):
        packed = zlib.compress(v.tobytes(), 1)
        return v.typecode.encode() + struct.pack('<III', len(v), 1, len(packed)) + packed
    return b'L' + struct.pack('<q', v) if isinstance(v, Id) else b'I' + struct.pack('<i', v)


def record(name, values=(), children=(), at=0):
    """The bytes of a record that begins at byte `at` of the file."""
    body = b''.join(value(v) for v in values)
    begin = at + 13 + len(name)
    inside = b''
    for child in children:
        inside += record(*child, at=begin + len(body) + len(inside))
    if children:
        inside += bytes(13)
    end = begin + len(body) + len(inside)
    return struct.pack('<IIIB', end, len(values), len(body), len(name)) + name + body + inside


def main():
    path, side = sys.argv[1], int(sys.argv[2])
    points, normals, uvs, corners = array.array('d'), array.array('d'), array.array('d'), array.array('i')
    for y in range(side + 1):
        for x in range(side + 1):
            points.extend((x, 5 * math.sin(x / 9) * math.cos(y / 7), y))
            uvs.extend((x / side, y / side))
            normals.extend((0, 1, 0))
    for y in range(side):
        for x in range(side):
            i = y * (side + 1) + x
            corners.extend((i, i + side + 1, i + side + 2, ~(i + 1)))
    indices = array.array('i', [c if c >= 0 else ~c for c in corners])
    layer = ((b'MappingInformationType', (b'ByVertice',)), (b'ReferenceInformationType', (b'Direct',)), (b'Normals', (normals,)))
    uv = ((b'MappingInformationType', (b'ByPolygonVertex',)), (b'ReferenceInformationType', (b'IndexToDirect',)), (b'UV', (uvs,)),
          (b'UVIndex', (indices,)))
    geometry = (b'Geometry', (Id(1), b'g\0\1Geometry', b'Mesh'), ((b'Vertices', (points,)), (b'PolygonVertexIndex', (corners,)),
                (b'LayerElementNormal', (0,), layer), (b'LayerElementUV', (0,), uv)))
    model = (b'Model', (Id(2), b'grid\0\1Model', b'Mesh'), ((b'Version', (232,)),))
    out = b'Kaydara FBX Binary  \0\x1a\0' + struct.pack('<I', 7400)
    for top in ((b'FBXHeaderExtension', (), ((b'FBXVersion', (7400,)),)), (b'Objects', (), (geometry, model)),
                (b'Connections', (), ((b'C', (b'OO', Id(1), Id(2))), (b'C', (b'OO', Id(2), Id(0)))))):
        out += record(*top, at=len(out))
    with open(path, 'wb') as file:
        file.write(out + bytes(13))


main()
