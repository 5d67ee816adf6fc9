#!/usr/bin/env python3
"""Counts, kind by kind, in how many FBX files of the corpus the importer agrees with an independent reader.

    fbx_agreement.py MODEL_DUMP [--verbose] [--only TEXT] [--least fbx_agreement.json]

The facts are ORACLE-fbx.jsonl of the corpus. With --least the run fails when a count is below the one written there: counts may
only rise. fbx_explained.json lists accepted differences with their reasons, file by file.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CORPUS = pathlib.Path(os.environ.get('HOB_CORPUS', HERE.parents[1] / '../shared/corpus')).resolve()
NEAR = 1e-3  # of the model's size


def columns(world):
    """Four columns; the first three are normalised, because the oracle's contain the unit's scale."""
    result = []
    for k in range(3):
        column = world[k * 3:k * 3 + 3]
        length = math.sqrt(sum(v * v for v in column))
        result.append([v / length for v in column] if length > 1e-9 else None)
    return result + [world[9:12]]


def world_error(ours, theirs, size):
    a, b = columns(ours), columns(theirs)
    error = max(abs(x - y) for x, y in zip(a[3], b[3])) / size
    for k in range(3):
        if a[k] and b[k]:
            error = max(error, max(abs(x - y) for x, y in zip(a[k], b[k])))
    return error


def box_error(ours, theirs, size):
    if not ours or not theirs:
        return 0 if not ours and not theirs else math.inf
    return max(abs(x - y) for x, y in zip(ours, theirs)) / size


def size_of(fact):
    size = 0
    boxes = [fact.get('bounds'), fact.get('bounds_deformed')]
    for box in boxes:
        if box:
            size = max(size, math.dist(box[:3], box[3:]))
    if size <= 0:
        points = [n['world'][9:12] for n in fact['nodes']]
        size = max((math.dist(p, q) for p in points for q in points[:1]), default=0)
    return size if size > 1e-9 else 1


def pair_nodes(ours, theirs):
    """Maps each node of the oracle but the root to Hob's node of the same name; equal names are paired in order."""
    by_name = {}
    for i, (name, _) in enumerate(ours):
        by_name.setdefault(name, []).append(i)
    pairs = {}
    for i, node in enumerate(theirs):
        if i > 0 and by_name.get(node['name']):
            pairs[i] = by_name[node['name']].pop(0)
    return pairs


def pairings(ours, theirs, worlds, size):
    """Like pair_nodes, but pairs nodes of one name by distance."""
    by_name = {}
    for i, (name, _) in enumerate(ours):
        by_name.setdefault(name.strip(), []).append(i)
    pairs = {}
    for i, node in enumerate(theirs):
        if i == 0:
            continue
        choice = by_name.get(node['name'].strip())
        if not choice:
            continue
        best = min(choice, key=lambda k: world_error(worlds[k], node['world'], size)) if len(choice) > 1 else choice[0]
        choice.remove(best)
        pairs[i] = best
    return pairs


def run(dump, path, stacks):
    arguments = []
    for stack in stacks:
        times = [s['t'] for s in stack['samples']]
        both = [t - stack['begin'] for t in times] + times
        arguments += [stack['name'].replace('\0', ''), ','.join(repr(t) for t in both)]
    try:
        done = subprocess.run([dump, str(path), *arguments], capture_output=True, timeout=300)
        return json.loads(done.stdout) if done.returncode == 0 else {'ok': False, 'error': f'exit {done.returncode}: {done.stderr[-300:]!r}'}
    except (subprocess.TimeoutExpired, ValueError) as error:
        return {'ok': False, 'error': str(error)[:200]}


def stack_errors(fact, got, size, pairs):
    """(name, worst world and box error) of each stack, with times relative to its start or absolute, whichever fits better."""
    errors = []
    for stack, sampled in zip(fact['stacks'], got['samples']):
        count = len(stack['samples'])
        best = None
        for half in (sampled['times'][:count], sampled['times'][count:]):
            world = box = 0
            for theirs, ours in zip(stack['samples'], half):
                for i, k in pairs.items():
                    if theirs.get('world'):
                        world = max(world, world_error(ours['world'][k], theirs['world'][i], size))
                if theirs.get('bounds'):
                    box = max(box, box_error(ours['bounds'], theirs['bounds'], size))
            if best is None or max(world, box) < max(best):
                best = (world, box)
        errors.append((stack['name'], *(best or (0, 0))))
    return errors


def wrong_weight(theirs, ours):
    """The first weight of the oracle's channels (`theirs`) that no target of Hob has, or None. 1 is 100 percent."""
    if len(theirs) == len(ours):
        return next((a for a, b in zip(sorted(theirs), sorted(ours)) if abs(a - b) > NEAR), None)
    return next((a for a in theirs if not any(abs(a - b) <= NEAR for b in ours)), None)


def weight_errors(fact, got):
    """Compares weights at rest and at each stack's times, only of channels with one shape: in-betweens divide the weight."""
    plain = [i for i, c in enumerate(fact['blend_channels']) if len(c['shapes']) == 1 and abs(c['shapes'][0][0] - 1) < 1e-6]
    wrong = [('rest', wrong_weight([fact['blend_channels'][i]['weight'] for i in plain], got['weights']))]
    for stack, sampled in zip(fact['stacks'], got['samples']):
        count = len(stack['samples'])
        halves = [[wrong_weight([theirs['weights'][i] for i in plain], ours['weights'])
                   for theirs, ours in zip(stack['samples'], half) if theirs.get('weights')]
                  for half in (sampled['times'][:count], sampled['times'][count:])]
        best = min(halves, key=lambda half: sum(w is not None for w in half))
        wrong += [(stack['name'], w) for w in best]
    return [w for w in wrong if w[1] is not None]


SLOTS = {'base_color': '0', 'metalness': '16', 'roughness': '15', 'emission_color': '4', 'opacity': '5'}


def last_part(name):
    return name.replace('\\', '/').split('/')[-1].lower()


def number(pbr, key, otherwise):
    value = pbr.get(key, {}).get('value', otherwise)
    return value if isinstance(value, list) else [value] * 3


def material_errors(fact, got):
    """(names of differing properties, number of compared materials)"""
    wrong = []
    ours = {}
    for m in got['materials']:
        ours.setdefault(m['name'].strip(), []).append(m)
    for m in fact['materials']:
        choice = ours.get(m['name'].strip())
        if not choice:
            wrong.append((m['name'], 'missing'))
            continue
        mine = choice.pop(0)
        pbr = m['pbr']
        files = {last_part(fact['textures'][v['texture']].get('relative') or fact['textures'][v['texture']].get('absolute') or '')
                 for k, v in pbr.items() if k in SLOTS and v.get('texture') is not None}
        held = {last_part(t['file']) for t in mine['maps'].values()}
        if not {f for f in files if f} <= held:
            wrong.append((m['name'], f'textures {files} {held}'))
        # Colours of old and unknown shading models are not compared.
        classic = m['shader'] in ('lambert', 'phong', 'unknown', 'blender_phong')
        if pbr.get('base_color', {}).get('texture') is None:
            factor = number(pbr, 'base_factor', 1)
            base = [a * b for a, b in zip(number(pbr, 'base_color', 1), factor)]
            if max(abs(a - b) for a, b in zip(base, mine['base'])) > 2e-3:
                wrong.append((m['name'], f'base {base} {mine["base"]}'))
        for key, field in (('metalness', 'metallic'), ('roughness', 'roughness')):
            if pbr.get(key, {}).get('texture') is None and key in pbr and m['shader'] not in ('lambert', 'phong', 'unknown'):
                if abs(number(pbr, key, 0)[0] - mine[field]) > 2e-3:
                    wrong.append((m['name'], f'{key} {pbr[key]} {mine[field]}'))
        if pbr.get('emission_color', {}).get('texture') is None and 'emission_color' in pbr:
            factor = number(pbr, 'emission_factor', 1)
            glow = [a * b for a, b in zip(number(pbr, 'emission_color', 0), factor)]
            if max(abs(a - b * mine['strength']) for a, b in zip(glow, mine['emissive'])) > 2e-3 * max(1, *glow):
                wrong.append((m['name'], f'emission {glow} {mine["emissive"]} {mine["strength"]}'))
        fbx = m.get('fbx', {})
        if classic and 'transparency_factor' in fbx and 'transparency_color' in fbx:
            clear = number(fbx, 'transparency_color', 0)
            opacity = 1 - number(fbx, 'transparency_factor', 1)[0] * sum(clear) / 3
            if m['shader'] != 'blender_phong' and abs(max(0, min(1, opacity)) - mine['base'][3]) > 2e-3:
                wrong.append((m['name'], f'opacity {opacity} {mine["base"][3]}'))
        elif 'opacity' in pbr and 'value' in pbr['opacity'] and pbr['opacity'].get('texture') is None:
            opacity = sum(number(pbr, 'opacity', 1)) / 3
            if abs(max(0, min(1, opacity)) - mine['base'][3]) > 2e-3:
                wrong.append((m['name'], f'opacity {opacity} {mine["base"][3]}'))
    return wrong


def view_errors(fact, got):
    """Perspective cameras by their vertical angle and aspect, lights by their intensity."""
    wrong = []
    placed = [c for c in fact['cameras'] if not c['name'].startswith('Producer ')]
    for theirs, ours in zip(placed, got['cameras']):
        angle, aspect = math.degrees(ours[1]), ours[2]
        if not theirs['ortho'] and (abs(angle - theirs['fov_deg'][1]) > 0.05 or abs(aspect - theirs['aspect']) > 0.01):
            wrong.append(f'{theirs["name"]!r}: {angle} degrees, {aspect}')
    for theirs, ours in zip(fact['lights'], got['lights']):
        if abs(ours[1] - theirs['intensity'] * max(theirs['color'])) > NEAR * max(1, ours[1]):
            wrong.append(f'light {theirs}: {ours}')
    return wrong


OLD_MATERIAL = re.compile(r'Material:\s*"Material::([^"]*)"\s*\{(.*?)\}', re.S)
OLD_COLORS = {'Diffuse': 'base_color', 'Emissive': 'emission_color'}


def restate_old_colors(fact):
    """Completes colours of files before 6000, of which the oracle reads one number, from the ASCII version of the file."""
    twin = CORPUS / fact['path'].replace('_binary', '_ascii')
    stated = dict(OLD_MATERIAL.findall(twin.read_text(encoding='latin-1'))) if twin.exists() else {}
    for material in fact['materials']:
        for line, key in OLD_COLORS.items():
            numbers = re.search(rf'\b{line}: *([-\d.e]+),([-\d.e]+),([-\d.e]+)', stated.get(material['name'], ''))
            value = material['pbr'].get(key, {}).get('value')
            if not numbers or value is None:
                continue
            color = [float(v) for v in numbers.groups()]
            if abs(color[0] - (value[0] if isinstance(value, list) else value)) < 1e-6:
                material['pbr'][key]['value'] = color


def compare(dump, fact):
    """kind -> (agreed, compared), and a sentence about each difference."""
    if fact['version'] < 6000:
        restate_old_colors(fact)
    got = run(dump, CORPUS / fact['path'], fact['stacks'])
    counts, said = {}, []

    def count(kind, good, why=''):
        agreed, compared = counts.get(kind, (0, 0))
        counts[kind] = (agreed + bool(good), compared + 1)
        if not good:
            said.append(f'{kind}: {why}')

    count('load', got['ok'], got.get('error', ''))
    if not got['ok']:
        for kind in ('triangles', 'bounds', 'bounds_deformed', 'nodes'):
            count(kind, False, 'not loaded')
        for stack in fact['stacks']:
            if fact['features']['keys']:
                count('stack', False, 'not loaded')
        if fact['materials']:
            count('material_files', False, 'not loaded')
        return fact['path'], counts, said
    size = size_of(fact)
    count('triangles', got['triangles_drawn'] == fact['triangles_drawn'], f'{got["triangles_drawn"]}, {fact["triangles_drawn"]}')
    for kind in ('bounds', 'bounds_deformed'):
        error = box_error(got[kind], fact[kind], size)
        count(kind, error <= NEAR, f'off by {error:.2g}: {got[kind]} {fact[kind]}')
    pairs = pairings(got['nodes'], fact['nodes'], got['world'], size)
    missing = [n['name'] for i, n in enumerate(fact['nodes']) if i > 0 and i not in pairs]
    worst = max(((world_error(got['world'][k], fact['nodes'][i]['world'], size), fact['nodes'][i]['name']) for i, k in pairs.items()),
                default=(0, ''))
    count('nodes', not missing and worst[0] <= NEAR, f'missing {missing[:5]}, off by {worst[0]:.2g} at {worst[1]!r}')
    if fact['skins']:
        theirs = sorted(s['clusters'] for s in fact['skins'])
        count('skins', len(got['skins']) > 0, f'{got["skins"]} {theirs}')
        most = {}
        for mesh, influences in got['influences']:
            most[mesh] = max(most.get(mesh, 0), influences)
        theirs = sorted(s['max_influences'] for s in fact['skins'])
        count('influences', sorted(most.values()) == theirs, f'{sorted(most.values())}, {theirs}')
    if fact['blend_channels']:
        shapes = sum(len(c['shapes']) for c in fact['blend_channels'])
        count('shapes', len(got['weights']) >= shapes, f'{len(got["weights"])} weights for {shapes} shapes')
        wrong = weight_errors(fact, got)
        count('weights', not wrong, f'{wrong[:4]}')
    if fact['features']['keys']:
        for name, world, box in stack_errors(fact, got, size, pairs):
            count('stack', max(world, box) <= NEAR, f'{name!r}: worlds off by {world:.2g}, boxes by {box:.2g}')
    if fact['materials']:
        wrong = material_errors(fact, got)
        count('material_files', not wrong, f'{wrong[:4]}')
        counts['materials'] = (len(fact['materials']) - len({w[0] for w in wrong}), len(fact['materials']))
    if fact['cameras'] or fact['lights']:
        wrong = view_errors(fact, got)
        count('views', not wrong, f'{wrong[:4]}')
    for kind in ('cameras', 'lights'):
        if fact[kind]:
            count(kind, len(got[kind]) == len(fact[kind]), f'{len(got[kind])} {len(fact[kind])}')
    return fact['path'], counts, said


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('dump')
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument('--only', default='')
    parser.add_argument('--kind', default='')
    parser.add_argument('--least')
    options = parser.parse_args()
    oracle = CORPUS / 'ORACLE-fbx.jsonl'
    if not oracle.exists():
        print(f'skipped: no {oracle}; set HOB_CORPUS')
        return 77
    facts = [json.loads(line) for line in oracle.read_text(encoding='utf-8').splitlines()]
    facts = [f for f in facts if f.get('nodes') and options.only in f['path']]
    explained = json.loads((HERE / 'fbx_explained.json').read_text()) if (HERE / 'fbx_explained.json').exists() else {}
    total, unexplained = {}, 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, counts, said in pool.map(lambda fact: compare(options.dump, fact), facts):
            for kind, (agreed, compared) in counts.items():
                had = total.get(kind, (0, 0))
                total[kind] = (had[0] + agreed, had[1] + compared)
            said = [s for s in said if s.startswith(options.kind)]
            known = explained.get(pathlib.Path(path).name, {})
            unexplained += sum(1 for s in said if s.split(':')[0] not in known)
            if options.verbose:
                for sentence in said:
                    print(f'  {path}: {sentence}')
    for kind, (agreed, compared) in total.items():
        print(f'{kind:16} {agreed:5} of {compared:5}')
    print(f'{unexplained} differences are not explained')
    if not options.least:
        return 0
    least = json.loads((HERE / options.least).read_text())
    fallen = [f'{kind}: {total.get(kind, (0, 0))[0]} agree, {count} did' for kind, count in least.items()
              if total.get(kind, (0, 0))[0] < count]
    print('\n'.join(fallen))
    return 1 if fallen else 0


if __name__ == '__main__':
    sys.exit(main())
