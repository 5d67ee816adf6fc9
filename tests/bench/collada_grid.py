#!/usr/bin/env python3
"""collada_grid.py FILE SIDE: a grid of SIDE x SIDE quads as COLLADA, with normals and texture coordinates."""
import math
import sys

path, side = sys.argv[1], int(sys.argv[2])
count = (side + 1) * (side + 1)


def source(out, name, values, params):
    out.write(f'<source id="{name}"><float_array id="{name}-a" count="{len(values)}">{" ".join(values)}</float_array>'
              f'<technique_common><accessor source="#{name}-a" count="{len(values) // len(params)}" stride="{len(params)}">'
              + ''.join(f'<param name="{p}" type="float"/>' for p in params) + '</accessor></technique_common></source>\n')


with open(path, 'w', encoding='ascii') as out:
    out.write('<?xml version="1.0"?>\n<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">\n'
              '<asset><unit meter="1"/><up_axis>Y_UP</up_axis></asset>\n<library_geometries><geometry id="g"><mesh>\n')
    points, normals, uvs = [], [], []
    for y in range(side + 1):
        for x in range(side + 1):
            slope = math.cos(x * 0.1)
            length = math.hypot(1, slope)
            points += [f'{x * 0.1:.6f}', f'{math.sin(x * 0.1):.6f}', f'{y * 0.1:.6f}']
            normals += [f'{-slope / length:.6f}', f'{1 / length:.6f}', '0']
            uvs += [f'{x / side:.6f}', f'{y / side:.6f}']
    source(out, 'p', points, 'XYZ')
    source(out, 'n', normals, 'XYZ')
    source(out, 't', uvs, 'ST')
    out.write(f'<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>\n<polylist count="{side * side}">'
              '<input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#n" offset="1"/>'
              '<input semantic="TEXCOORD" source="#t" offset="2" set="0"/>\n<vcount>' + '4 ' * (side * side) + '</vcount>\n<p>')
    for y in range(side):
        row = []
        for x in range(side):
            a = y * (side + 1) + x
            for v in (a, a + side + 1, a + side + 2, a + 1):
                row.append(f'{v} {v} {v}')
        out.write(' '.join(row) + '\n')
    out.write('</p></polylist>\n</mesh></geometry></library_geometries>\n<library_visual_scenes><visual_scene id="s">'
              '<node><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>\n'
              '<scene><instance_visual_scene url="#s"/></scene>\n</COLLADA>\n')
