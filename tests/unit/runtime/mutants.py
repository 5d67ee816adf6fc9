#!/usr/bin/env python3
"""Mistakes that animation players are known to make, put into core/runtime one at a time: the test that is named beside
each must then fail. Not part of the suite (a minute); run it after changing the runtime or its tests.

    python3 tests/unit/runtime/mutants.py [WORD]       # only mistakes with this word"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
# What goes wrong, where, what stands there, what the mistake is, and tests/unit/runtime/FILE.c: TEST.
MISTAKES = [
    ("lerp reversed", "rt_clip.c", "a[i] + place->fraction * (b[i] - a[i])", "b[i] + place->fraction * (a[i] - b[i])",
     "clip", "lerp_goes_from_the_earlier_key_to_the_later"),
    ("missing tracks become zero", "rt_clip.c", "copy_floats(rt_pose_rows(pose), a->rest, (size_t)a->slot_stride * RT_POSE_ROWS);",
     "memset(rt_pose_rows(pose), 0, (size_t)a->slot_stride * RT_POSE_ROWS * 4);", "clip", "missing_tracks_take_the_rest_pose"),
    ("only the first channel is applied", "rt_clip.c", "i < clip->channel_count; i++", "i < clip->channel_count && i < 1; i++",
     "clip", "every_channel_is_applied"),
    ("nothing at or before the first key", "rt_clip.c", "if (!(time > times[0]))\n\t\treturn place;",
     "if (!(time > times[0])) {\n\t\tplace.key = count - 1;\n\t\treturn place;\n\t}", "clip",
     "keys_give_their_own_values_and_the_ends_hold"),
    ("nothing after the last key", "rt_clip.c", "place.key = count - 1;\n\t\treturn place;", "place.key = 0;\n\t\treturn place;",
     "clip", "keys_give_their_own_values_and_the_ends_hold"),
    ("STEP played as LINEAR", "rt_clip.c", "sampler->interpolation == HOB_PK_STEP, cursors", "false, cursors", "clip", "step_holds"),
    ("CUBICSPLINE tangents not scaled", "rt_clip.c", "place.seconds = (float)seconds;", "place.seconds = 1;", "clip",
     "cubic_follows_its_tangents_scaled_by_the_distance_of_keys"),
    ("CUBICSPLINE outputs taken for values", "rt_clip.c", "((size_t)key * 3 + 1) * curve->components", "((size_t)key) * curve->components",
     "clip", "cubic_follows_its_tangents_scaled_by_the_distance_of_keys"),
    ("the long way round", "rt_clip.c", "float sign = d < 0 ? -1.0f : 1.0f, x", "float sign = 1.0f, x", "clip",
     "slerp_takes_the_short_way_at_constant_speed"),
    ("time wraps to the start", "rt_clip.c", "return start + (rest < length ? rest : 0);", "return time >= clip->end ? start : start + rest;",
     "clip", "time_loops_with_its_remainder_in_both_directions"),
    ("loops ignore the clip's start", "rt_clip.c", "fmod(time - start, length)", "fmod(time, length)", "clip",
     "time_loops_with_its_remainder_in_both_directions"),
    ("backwards leaves the clip", "rt_clip.c", "\tif (rest < 0)\n\t\trest += length;\n", "", "clip",
     "time_loops_with_its_remainder_in_both_directions"),
    ("cursors trusted", "rt_clip.c", "key + 1 >= count || !(times[key] <= time) || !(time < times[key + 1])",
     "key + 1 >= count || !(time < times[key + 1])", "clip", "cursors_never_change_the_result"),
    ("rotations are not normalised", "rt_clip.c", "\trt_normalise(q);\n\tfor", "\tfor", "clip", "no_input_gives_a_number_that_is_none"),
    ("matrix and TRS multiplied", "rt_instance.c", "\tif (in->flags[node] & RT_NODE_MATRIX)\n\t\treturn;\n\trt_compose", "\trt_compose",
     "instance", "matrices_stay_as_given_until_a_part_is_set"),
    ("only the first changed root is updated", "rt_instance.c", "node = next_marked(in, end);", "node = HOB_RT_NONE;", "instance",
     "a_change_of_a_deep_node_alone_and_of_a_second_root_arrives"),
    ("children of a changed node stay", "rt_instance.c", "end = node + count;", "end = node + 1;", "instance",
     "update_matches_recomputation_and_touches_changed_subtrees_only"),
    ("everything is computed anew", "rt_instance.c", "\tuint32_t changed = 0, node = next_marked(in, 0);",
     "\tuint32_t changed = 0, node = 0;", "instance", "update_matches_recomputation_and_touches_changed_subtrees_only"),
    ("attached models do not know their host", "rt_instance.c", "set_base(in, hob_rt_global(in->host, in->host_node));", "(void)set_base;",
     "instance", "attached_instances_follow_and_cost_only_when_their_host_moves"),
    ("inverse bind left out", "rt_skin.c", "rt_multiply(in->globals + (size_t)from->joints[i] * 16, bind, palette + (size_t)i * 16);",
     "(void)bind;\n\t\tmemcpy(palette + (size_t)i * 16, in->globals + (size_t)from->joints[i] * 16, 64);", "skin",
     "palettes_are_global_times_inverse_bind"),
    ("one inverse bind matrix per joint", "rt_skin.c", "a->inverse_binds, first + i)->m;\n\t\trt_multiply", "a->inverse_binds, i)->m;\n\t\trt_multiply",
     "skin", "skins_over_the_same_joints_have_matrices_of_their_own"),
    ("normals scaled like positions", "rt_skin.c", "\tfor (int i = 0; i < 12; i++)\n\t\tout[i] *= scale;", "\t(void)scale;\n\tmemcpy(out, m, 48);",
     "skin", "mirrored_and_flattened_joints_have_normal_matrices_without_surprises"),
    ("morph weights of clips are lost", "rt_clip.c", "in->weights[i] = pose->weights[i];", "(void)pose;", "skin",
     "morph_weights_come_from_the_node_the_clip_and_the_caller"),
]


FLAGS = ["-O1", "-std=gnu11", "-w", f"-I{ROOT}", f'-DHOB_TEST_DATA="{ROOT}/tests/data"']


def compiled(source, object_file):
    """The object file, made when it is not there; None when the source does not compile."""
    if not object_file.exists():
        built = subprocess.run(["cc", *FLAGS, "-c", str(source), "-o", str(object_file)], capture_output=True, text=True)
        if built.returncode:
            print(built.stderr[:500])
            return None
    return object_file


def failing(folder, file, program):
    """Names of the tests of `program` that fail with folder/core/runtime/<file> in place of its original."""
    sources = {path.name: path for path in (ROOT / "core/runtime").glob("*.c")}
    objects = [compiled(source, folder / (name + ".o")) for name, source in sources.items() if name != file]
    objects.append(compiled(ROOT / f"tests/unit/runtime/{program}.c", folder / (program + ".test.o")))
    mutant = folder / "mutant.o"
    mutant.unlink(missing_ok=True)
    objects.append(compiled(folder / "core/runtime" / file, mutant))
    if None in objects:
        return None
    subprocess.run(["cc", *map(str, objects), "-lcmocka", "-lm", "-o", str(folder / "test")], check=True)
    try:
        ran = subprocess.run([folder / "test"], capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return ["it does not end"]
    return [line.split("] ")[1] for line in (ran.stdout + ran.stderr).splitlines() if line.startswith("[  FAILED  ] ")] or (
        ["it crashes"] if ran.returncode else [])


def main():
    survivors = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        shutil.copytree(ROOT / "core/runtime", folder / "core/runtime", ignore=shutil.ignore_patterns("draw", "examples"))
        (folder / "core/formats").symlink_to(ROOT / "core/formats")
        (folder / "schema").symlink_to(ROOT / "schema")
        for mistake, file, before, after, program, test in MISTAKES:
            if sys.argv[1:] and sys.argv[1] not in mistake:
                continue
            text = (ROOT / "core/runtime" / file).read_text()
            if text.count(before) < 1:
                print(f"STALE     {mistake}: {file} has no '{before}' any more")
                survivors += 1
                continue
            (folder / "core/runtime" / file).write_text(text.replace(before, after))
            red = failing(folder, file, program)
            seen = red is not None and (any(test in line for line in red) or red in (["it does not end"], ["it crashes"]))
            survivors += not seen
            print(f"{'seen     ' if seen else 'NOT SEEN '} {mistake}: {program}.c {test}" + ("" if seen else f" (red: {red})"), flush=True)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
