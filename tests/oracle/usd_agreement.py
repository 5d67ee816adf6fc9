#!/usr/bin/env python3
"""Counts, kind by kind, in how many USD stages of OpenUSD's own tests the importer agrees with OpenUSD.

    usd_agreement.py MODEL_DUMP [--verbose] [--only TEXT] [--kind KIND] [--least usd_agreement.json]

The facts are ORACLE-usd-openusd.jsonl of the corpus: triangles, boxes at rest and in motion, and materials, as OpenUSD's Hydra
receives them. A stage agrees when all its facts do. usd_explained.json names the stages that differ for a good reason; stages
whose reason begins with "oracle:" or "corpus:" are not compared, because this oracle or the corpus lacks something. With --least
the run fails when a count is below the one written there, when a difference is not explained, or when an explanation has become
needless: the list may only shrink.
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
NEAR = 2e-4  # of the box's size
# Hydra draws a sphere of 10 points around; Hob's has more.
ROUND_NEAR = 0.06
ROUND = {'Sphere', 'Cylinder', 'Capsule', 'Cone', 'Cylinder_1', 'Capsule_1', 'NurbsPatch'}


def rate_of(fact):
    """Time codes per second; the oracle does not state framesPerSecond, which applies where the rate is not authored."""
    rate = fact.get('time_codes_per_second')
    if not rate:
        text = (CORPUS / fact['path']).read_bytes()[:8192].decode('latin-1')
        stated = re.search(r'framesPerSecond = ([\d.]+)', text) if text.startswith('#usda') else None
        rate = float(stated.group(1)) if stated else 24
    return rate if rate > 0 else 24


def run(dump, fact):
    samples = fact.get('samples') or []
    rate, start = rate_of(fact), fact.get('start') or 0
    arguments = []
    if samples:
        arguments = ['*', ','.join(repr((s[0] - start) / rate) for s in samples)]
    try:
        done = subprocess.run([dump, f'{CORPUS}//{fact["path"]}', *arguments], capture_output=True, timeout=300)
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as error:
        return {'ok': False, 'code': 'crash', 'error': str(error)[:200]}


def box_error(ours, theirs):
    if not ours or not theirs:
        return 0 if not ours and not theirs else math.inf
    size = max(max(abs(v) for v in theirs), 1e-9)
    return max(abs(a - b) for a, b in zip(ours, theirs)) / size


def material_errors(fact, got):
    ours = {}
    for m in got['materials']:
        ours.setdefault(m['name'], []).append(m)
    wrong = []
    for m in fact['materials']:
        if not m.get('bound', True):
            continue
        choice = ours.get(m['path'].rsplit('/', 1)[-1])
        if choice is None:
            wrong.append(f'no material {m["path"]}')
            continue
        errors = [material_error(m, mine) for mine in choice]
        if all(errors):
            wrong.append(errors[0])
    return wrong


def material_error(theirs, mine):
    color = theirs.get('diffuseColor')
    if isinstance(color, list) and not theirs.get('useSpecularWorkflow'):
        if any(abs(a - max(0, min(1, b))) > NEAR for a, b in zip(mine['base'], color)):
            return f'{theirs["path"]}: base {mine["base"]}, {color}'
    for key, field in (('metallic', 'metallic'), ('roughness', 'roughness'), ('ior', 'ior')):
        if isinstance(theirs.get(key), (int, float)) and not (theirs.get('useSpecularWorkflow') and key == 'metallic'):
            if abs(max(0, theirs[key]) - mine[field]) > NEAR:
                return f'{theirs["path"]}: {key} {mine[field]}, {theirs[key]}'
    return None


def compare(dump, fact):
    """kind -> None or a description of the difference."""
    got = run(dump, fact)
    drawn, samples = fact['drawn'], fact.get('samples')
    found = {}
    if drawn is None:
        return fact['path'], got, found
    if drawn['triangles'] == 0:
        # Nothing drawn: compared only if no prim type was seen, because the oracle does not count points and curves.
        if not drawn['types']:
            draws = got['ok'] and got['triangles_drawn']
            found['nothing'] = f'draws {draws} triangles' if draws else None
        return fact['path'], got, found
    found['draws'] = None if got['ok'] else f'{got["code"]}: {got["error"]}'
    if not got['ok']:
        return fact['path'], got, found
    rounded = any(t in ROUND for t in fact['prims'])
    near = ROUND_NEAR if rounded else NEAR
    if fact['drawn_exact']:
        found['triangles'] = None if got['triangles_drawn'] == drawn['triangles'] else f'{got["triangles_drawn"]}, {drawn["triangles"]}'
    # The oracle draws each prototype only once, so boxes of stages with instances differ.
    once = fact['native_instances'] or fact['point_instancers']
    if not once:
        rest = samples[0][1] if samples else drawn['bounds_m_y_up']
        error = box_error(got['bounds_deformed'], rest)
        found['box'] = None if error <= near else f'off by {error:.2g}: {got["bounds_deformed"]}, {rest}'
    if samples and got['samples'] and not once:
        wrong = [(s[0], ours['bounds'], s[1]) for s, ours in zip(samples, got['samples'][0]['times']) if box_error(ours['bounds'], s[1]) > near]
        found['time'] = f'{wrong[0]}' if wrong else None
    if fact['materials']:
        wrong = material_errors(fact, got)
        found['materials'] = '; '.join(wrong[:3]) if wrong else None
    return fact['path'], got, found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n', 1)[0])
    parser.add_argument('dump')
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument('--only', default='')
    parser.add_argument('--kind', default='')
    parser.add_argument('--least')
    options = parser.parse_args()
    oracle = CORPUS / 'ORACLE-usd-openusd.jsonl'
    if not oracle.exists():
        print(f'skipped: no {oracle}; set HOB_CORPUS')
        return 77
    facts = [json.loads(line) for line in oracle.read_text(encoding='utf-8').splitlines()]
    facts = [f for f in facts if f['ok'] and options.only in f['path']]
    listed = HERE / 'usd_explained.json'
    explained = json.loads(listed.read_text()) if listed.exists() else {}
    total, stages, unexplained, used = {}, [0, 0, 0], 0, set()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, got, found in pool.map(lambda fact: compare(options.dump, fact), facts):
            wrong = {kind: why for kind, why in found.items() if why}
            for kind in found:
                had = total.setdefault(kind, [0, 0])
                had[0] += kind not in wrong
                had[1] += 1
            if 'draws' in found:
                reasons = [explained.get(path, {}).get(kind, '') for kind in wrong]
                lacking = wrong and all(r.startswith(('oracle:', 'corpus:')) for r in reasons)
                stages[2 if lacking else 1 if wrong else 0] += 1
            for kind, why in wrong.items():
                if not kind.startswith(options.kind):
                    continue
                reason = explained.get(path, {}).get(kind)
                used.add((path, kind))
                unexplained += not reason
                if options.verbose or not reason:
                    print(f'  {path}: {kind}: {why[:300]}' + (f' - {reason}' if reason else ''))
    needless = [(path, kind) for path, kinds in explained.items() for kind in kinds if (path, kind) not in used]
    for kind, (agreed, compared) in sorted(total.items()):
        print(f'{kind:10} {agreed:5} of {compared:5}')
    share = 100 * stages[0] / max(1, stages[0] + stages[1])
    print(f'{"stages":10} {stages[0]:5} of {stages[0] + stages[1]:5} that OpenUSD draws, {share:.1f} %; {stages[2]} not compared')
    print(f'{unexplained} differences are not explained')
    if not options.least:
        return 0
    for path, kind in needless:
        print(f'{path}: {kind} agrees: take it out of usd_explained.json')
    total['stages'], total['share'] = [stages[0]], [share]
    least = json.loads((HERE / options.least).read_text())
    fallen = [f'{kind}: {total.get(kind, [0])[0]} agree, {count} did' for kind, count in least.items()
              if total.get(kind, [0])[0] < count]
    print('\n'.join(fallen))
    return 1 if fallen or unexplained or needless else 0


if __name__ == '__main__':
    sys.exit(main())
