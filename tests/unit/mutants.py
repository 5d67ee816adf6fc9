#!/usr/bin/env python3
"""Known mistakes of scene converters (FEATURES.md) and animation players, put into core one at a time, and violated rules of the
daemon, put into server: the test named beside each must then fail. Not part of the suite (a few minutes); run it after changing
those modules or their tests.

    python3 tests/unit/mutants.py BUILD [WORD]       # BUILD: a build without sanitizers, for its libraries; only mistakes with
                                                     this word

A mistake beside a scenario (test_NAME.py) is put into the program hob; one in web, before the test that runs in Node."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# End of the function that returns a cook's dependencies, and a mutant that returns only the source and those that satisfy a
# condition.
FORGOTTEN = ("\t*count = io->count;\n\tif (io->left_root)",
             "\tfor (uint32_t i = 0; i < io->count; i++)\n\t\tif (i == 0 || %s)\n\t\t\tio->deps[(*count)++] = io->deps[i];\n\tif (io->left_root)")
# Mistakes: description, core/FILE, server/FILE or web/FILE, the original text, the mistake, and tests/unit/PROGRAM.c: TEST.
MISTAKES = [
    # glTF, where other readers lose it
    ("u8 fractions are taken as numbers", "import/gltf/gltf_accessor.c", "CONVERTER(u8_unit, float, uint8_t, (float)v / 255.0f)",
     "CONVERTER(u8_unit, float, uint8_t, (float)v)", "import/gltf_accessor", "integer_uvs_become_fractions"),
    ("u16 fractions are taken as numbers", "import/gltf/gltf_accessor.c", "CONVERTER(u16_unit, float, uint16_t, (float)v / 65535.0f)",
     "CONVERTER(u16_unit, float, uint16_t, (float)v)", "import/gltf_accessor", "integer_uvs_become_fractions"),
    ("quantised positions keep their integers' bits", "import/gltf/gltf_accessor.c", "a->normalized ? i16_unit : i16_float", "a->normalized ? i16_unit : i16_unit",
     "import/gltf_accessor", "quantised_positions_and_normals_are_read"),
    ("-32768 is below -1", "import/gltf/gltf_accessor.c", "v == -32768 ? -1.0f : (float)v / 32767.0f", "(float)v / 32768.0f",
     "import/gltf_accessor", "normalised_16_bit_positions_reach_one"),
    ("stride is ignored", "import/gltf/gltf_accessor.c", "a->stride = stride ? stride : a->element_size;", "a->stride = a->element_size;",
     "import/gltf_accessor", "interleaved_attributes_follow_stride_and_offset"),
    ("sparse values are ignored", "import/gltf/gltf_accessor.c", "if (sparse)", "if (sparse && !json)",
     "import/gltf_accessor", "sparse_values_replace_base_values"),
    ("sparse needs a base", "import/gltf/gltf_accessor.c", "\tif (id == HOB_NONE)\n\t\treturn;\n\thob_gltf_source view",
     '\tif (id == HOB_NONE)\n\t\thob_leave(CORRUPT, "no view");\n\thob_gltf_source view',
     "import/gltf_accessor", "sparse_without_base_starts_from_zeros"),
    ("8-bit indices are read as 16-bit", "import/gltf/gltf_accessor.c", "u8_u32(run.data, run.stride", "u16_u32(run.data, run.stride",
     "import/gltf_accessor", "every_index_width_gives_the_same_mesh"),
    ("without indices nothing is drawn", "import/gltf/gltf_mesh.c", "id == HOB_NONE && i < a.count; i++", "id == HOB_NONE && i < 0; i++",
     "import/gltf_accessor", "missing_indices_count_up"),
    ("strips turn every other triangle over", "import/gltf/gltf_mesh.c", "bool odd = mode == MODE_TRIANGLE_STRIP && (i & 1);", "bool odd = false;",
     "import/gltf_mesh", "modes_become_lists"),
    ("a fan is a strip", "import/gltf/gltf_mesh.c", "if (mode == MODE_TRIANGLE_FAN)", "if (false)", "import/gltf_mesh", "modes_become_lists"),
    ("a line loop stays open", "import/gltf/gltf_mesh.c", "if (mode == MODE_LINE_LOOP) {", "if (false) {", "import/gltf_mesh", "modes_become_lists"),
    ("the second set of weights overwrites the first", "import/gltf/gltf_mesh.c", "\t\tfirst += 4;\n", "", "import/gltf_mesh",
     "weights_of_every_type_and_several_sets"),
    ("colours of three components are transparent", "import/gltf/gltf_mesh.c", "\t\t\tcolor[i] = 1;\n", "\t\t\tcolor[i] = 0;\n", "import/gltf_mesh",
     "colors_of_three_and_four_components"),
    ("STEP played as LINEAR", "import/gltf/gltf_animation.c", "hob_track track = {.interpolation = s->interpolation, .components = components};",
     "hob_track track = {.interpolation = s->interpolation == HOB_STEP ? HOB_LINEAR : s->interpolation, .components = components};",
     "import/gltf_animation", "step_and_linear_are_kept_apart"),
    ("tangents of splines are dropped", "import/gltf/gltf_animation.c", "size_t per_key = (size_t)components * (cubic ? 3 : 1)", "size_t per_key = (size_t)components",
     "import/gltf_animation", "cubic_splines_keep_their_tangents"),
    ("rotations keep the length of their integers", "import/gltf/gltf_animation.c", "path == HOB_PATH_ROTATION && i < track->key_count", "false && i < track->key_count",
     "import/gltf_animation", "integer_rotations_become_unit_quaternions"),
    ("channels move the node of the same number", "import/gltf/gltf_animation.c", "(hob_channel){r->g->node_ids[node]", "(hob_channel){node",
     "import/gltf_animation", "channels_follow_a_node_that_moves_up_in_the_order"),
    ("names of buffers are not decoded", "import/gltf/gltf_buffers.c", "hob_need(hob_uri_decode(arena, uri, &decoded, &why), &why);", "decoded = uri;",
     "import/gltf", "buffer_names_are_percent_decoded"),
    ("a skin without matrices crashes or is zero", "import/gltf/gltf_scene.c", "\t\t\tset_identity(out->inverse_bind + (size_t)i * 16);\n", "\t\t\t;\n",
     "import/gltf_scene", "a_skin_without_matrices_has_identities"),
    ("infinite far is 100", "import/gltf/gltf_scene.c", "out->zfar = INFINITY;", "out->zfar = 100;", "import/gltf_scene", "cameras_are_shared_and_far_may_be_infinite"),
    ("only the default scene", "import/gltf/gltf_scene.c", "model->scene_count = g->scenes.count;", "model->scene_count = 1;", "import/gltf_scene", "every_scene_is_kept"),
    ("lights are white", "import/gltf/gltf_scene.c", 'hob_gltf_floats(json, "color", 3, out->color);', ";", "import/gltf_scene",
     "punctual_lights_hang_on_nodes"),
    ("a mesh has one skin", "import/gltf/gltf_nodes.c", "node->mesh_count = g->mesh_first[mesh + 1] - g->mesh_first[mesh];",
     "node->mesh_count = g->mesh_first[mesh + 1] - g->mesh_first[mesh];\n\tif (node->skin != HOB_NONE) node->skin = 0;", "import/gltf_scene", "one_mesh_may_have_two_skins"),
    ("the texture transform's own uv set is ignored", "import/gltf/gltf_material.c", '*uv_set = hob_gltf_size(json, "texCoord", *uv_set);', ";",
     "import/gltf_material", "texture_transforms_override_the_uv_set"),
    ("specular-glossiness is metal as it comes", "import/gltf/gltf_material.c", "\tout->metallic = metallic;\n}", "\tout->metallic = 1;\n}", "import/gltf_material",
     "spec_gloss_plastic_and_metal_convert"),
    ("specular-glossiness pictures are numbers, not light", "texture/texture_load.c", "srgb->linear[hob_picture_byte(picture, 4 * pixel + k)]",
     "(float)hob_picture_byte(picture, 4 * pixel + k) / 255.0f", "texture/texture_load", "specular_glossiness_reflects_as_before"),
    ("glossiness is roughness", "texture/texture_load.c", "unit_code(1 - c->how->glossiness", "unit_code(c->how->glossiness", "texture/texture_load",
     "specular_glossiness_without_a_picture_uses_its_factors"),
    ("alpha modes are not read", "import/gltf/gltf_material.c", "out->alpha_mode = (hob_alpha_mode)i;", ";", "import/gltf_material", "the_core_material_is_read"),
    ("unknown required extensions are ignored", "import/gltf/gltf.c", "if (hob_gltf_knows(item->valuestring))", "if (hob_gltf_knows(item->valuestring) || true)", "import/gltf",
     "required_extensions_must_be_known"),
    ("a matrix is taken apart by its rows", "model/matrix.c", "m.column[i][row] = matrix[i * 4 + row]", "m.column[i][row] = matrix[row * 4 + i]",
     "import/gltf_scene", "a_matrix_becomes_translation_rotation_scale"),
    # other readers
    ("OBJ opacity is lost", "import/mtl.c", "m->base_color[3] = opacity;", ";", "import/mtl", "opacity_is_d_or_else_one_minus_tr"),
    ("OBJ V is not turned over", "import/obj_build.c", "= 1 - uv_source[", "= uv_source[", "import/obj", "texture_coordinates_begin_at_the_top"),
    ("corners share by position alone", "import/obj_build.c", "vertices[i].corner.vt == corner->vt && vertices[i].corner.vn == corner->vn", "true", "import/obj", "corners_share_a_vertex_only_when_all_indices_agree"),
    ("a merge keeps the first scene only", "import/merge.c", "hob_model_merge(all, count,", "hob_model_merge(all, 1,", "import/merge",
     "scenes_stand_side_by_side"),
    # classic files
    ("an eighth level is written past its array", "formats/classic_write.c", "(uint32_t)HOB_CLASSIC_MAX_LODS;", "(uint32_t)HOB_CLASSIC_MAX_LODS + 1;",
     "formats/classic_files", "at_most_seven_levels_are_stored"),
    ("the data start is behind the boxes", "formats/classic_write.c", "(sizeof header + count * sizeof(hob_classic_mesh)),",
     "(sizeof header + count * (sizeof(hob_classic_mesh) + 24)),", "formats/classic_files", "meshes_file_has_the_reference_bytes"),
    ("V is turned over once more", "formats/classic_write.c", "uv[0], uv[1], n[0]", "uv[0], 1 - uv[1], n[0]", "formats/classic_files", "meshes_file_has_the_reference_bytes"),
    ("normal before uv", "formats/classic_write.c", "uv[0], uv[1], n[0], n[1], n[2]}", "n[0], n[1], n[2], uv[0], uv[1]}", "formats/classic_files",
     "meshes_file_has_the_reference_bytes"),
    ("sizes wrap at 4 GiB", "formats/classic_write.c", "indices <= UINT32_MAX / 4 &&", "(uint32_t)(indices * 4) <= UINT32_MAX &&", "formats/classic_files",
     "four_gibibytes_are_refused"),
    ("no texture is 0", "formats/classic_write.c", "return HOB_CLASSIC_INVALID_TEXTURE;", "return 0;", "formats/classic_files", "materials_file_has_the_reference_bytes"),
    ("globals are written as locals", "formats/classic_write.c", "{HOB_PK_LOCL, HOB_PK_GLOB}", "{HOB_PK_LOCL, HOB_PK_LOCL}", "formats/classic_files",
     "scene_file_has_the_reference_bytes"),
    ("maps hold pairs, not numbers", "formats/classic_write.c", "put_u32(&w->out.scene, drawn * 2);", "put_u32(&w->out.scene, drawn);", "formats/classic_files",
     "scene_file_has_the_reference_bytes"),
    ("quantised vertices are written as they are stored", "formats/pack_geometry.c", "a->encoding == HOB_PK_ENCODING_SCALED; i++", "false; i++", "formats/classic_files",
     "quantised_vertices_are_dequantised"),
    # meshes
    ("equal vertices stay apart", "mesh/weld.c", "if (hashes[other] == hashes[v] && equal(", "if (false && equal(", "mesh/weld", ""),
    ("equal hashes are equal vertices", "mesh/weld.c", "hashes[other] == hashes[v] && equal(arrays, array_count, other, v)", "(hashes[other] ^ hashes[v]) % 2 == 0",
     "mesh/weld", ""),
    ("pieces vanish from coarser levels", "mesh/simplify.c", "return piece->left + (double)c->area >= piece_share * piece->area || piece->area <= s->vanishing;", "return true;", "mesh/mesh_bake", "leaves_keep_all_their_squares"),
    ("vertices in the order of the finest level", "mesh/triangle_order.c", "uint32_t l = level_count; l-- > 0;", "uint32_t l = 0; l < level_count; l++", "mesh/leaves",
     "vertices_are_numbered_coarsest_level_first"),
    ("triangles stay as they came", "mesh/triangle_order.c", "\telse\n\t\thob_meshopt_order_fifo(indices, index_count, vertex_count, FIFO_SIZE);",
     "", "mesh/leaves", "triangles_are_ordered_for_the_vertex_cache"),
    ("bad normals stay", "mesh/bake.c", "\t\trepair_normals(b);", "\t\t(void)repair_normals;", "mesh/mesh_bake", "bad_normals_are_replaced"),
    ("weights do not add up to one", "mesh/influences.c", "exact = parts[i] / sum * whole", "exact = parts[i] / sum * (whole - 7)", "mesh/leaves",
     "weights_sum_exactly_and_keep_the_largest"),
    ("the sphere misses a point", "mesh/mesh_bounds.c", "sqrt(square) * 1.000001", "sqrt(square) * 0.99", "mesh/mesh_bake", ""),
    # materials
    ("emission is cut off at one", "material/material_ranges.c", "\tmove_strength(material);\n", "", "material/material_bake", "bright_emission_moves_to_its_strength"),
    ("the last name rule wins", "material/name_rules.c", "done[rule->subject] = true;", "done[rule->subject] = false;", "material/material_bake", "name_rules_follow_the_reference"),
    ("materials of one colour are one", "material/material_bake.c", "((offsetof(hob_material, slots) - offsetof(hob_material, base_color)) / sizeof(float))", "4",
     "material/material_bake", "every_field_keeps_materials_apart"),
    # scenes
    ("global transforms are identities", "scene/flatten.c", "hob_matrix_multiply(s->global + 16 * (size_t)parent, local, global);", "memcpy(global, identity, 64);",
     "scene/flatten", "globals_are_products_down_the_path"),
    ("the last sibling is not followed", "scene/flatten.c", "\tfirst->last_sibling = (int32_t)id;\n", "", "scene/flatten", "records_are_the_reference_converters"),
    ("levels begin at one", "scene/flatten.c", "{-1, -1, -1, -1, 0};", "{-1, -1, -1, -1, 1};", "scene/flatten", "records_are_the_reference_converters"),
    ("shear is forgotten", "scene/flatten.c", "trs->flags |= HOB_NODE_SHEAR;", ";", "scene/flatten", "shear_is_flagged"),
    ("mirrored is said of the node alone", "scene/flatten.c", "if (is_mirrored(global))", "if (is_mirrored(local))", "scene/flatten", "mirrored_means_the_whole_path"),
    ("the default material is material 0", "scene/flatten.c", "add_link(&s->material_links, id, model->meshes[mesh].material);",
     "add_link(&s->material_links, id, model->meshes[mesh].material == HOB_NONE ? 0 : model->meshes[mesh].material);", "scene/flatten",
     "links_are_sorted_and_default_material_has_none"),
    ("scale reaches vertices only", "model/model_scale.c", "scale(s, model->nodes[i].translation, 3);", ";", "scene/model_edits", "scale_reaches_everything_with_a_length"),
    ("scale forgets inverse bind matrices", "model/model_scale.c", "scale(s, skin->inverse_bind + 16 * j + 12, 3);", ";", "scene/model_edits",
     "scale_reaches_everything_with_a_length"),
    ("merged models keep their own material numbers", "model/model_merge.c", "mesh->material = shift(mesh->material, m->material_count);", ";", "scene/model_edits",
     "merged_models_stand_side_by_side"),
    ("instances of different scenes are folded", "scene/merge_instances.c", "f->nodes.anchor[n], n, f->nodes.scenes[n]}", "f->nodes.anchor[n], n, f->nodes.scenes[0]}",
     "scene/model_edits", "instances_of_different_scenes_stay_apart"),
    ("merge_instances does nothing", "scene/merge_instances.c", "if (new_refs == 0)\n\t\treturn;", "if (new_refs != ~0u)\n\t\treturn;", "scene/model_edits",
     "merging_instances_keeps_the_picture"),
    # players of animations
    ("lerp reversed", "runtime/rt_clip.c", "a[i] + place->fraction * (b[i] - a[i])", "b[i] + place->fraction * (a[i] - b[i])",
     "runtime/clip", "lerp_goes_from_the_earlier_key_to_the_later"),
    ("missing tracks become zero", "runtime/rt_clip.c", "copy_floats(rt_pose_rows(pose), a->rest, (size_t)a->slot_stride * RT_POSE_ROWS);",
     "memset(rt_pose_rows(pose), 0, (size_t)a->slot_stride * RT_POSE_ROWS * 4);", "runtime/clip", "missing_tracks_take_the_rest_pose"),
    ("only the first channel is applied", "runtime/rt_clip.c", "i < clip->channel_count; i++", "i < clip->channel_count && i < 1; i++",
     "runtime/clip", "every_channel_is_applied"),
    ("nothing at or before the first key", "runtime/rt_clip.c", "if (!(time > times[0]))\n\t\treturn place;",
     "if (!(time > times[0])) {\n\t\tplace.key = count - 1;\n\t\treturn place;\n\t}", "runtime/clip",
     "keys_give_their_own_values_and_the_ends_hold"),
    ("nothing after the last key", "runtime/rt_clip.c", "place.key = count - 1;\n\t\treturn place;", "place.key = 0;\n\t\treturn place;",
     "runtime/clip", "keys_give_their_own_values_and_the_ends_hold"),
    ("STEP played as LINEAR", "runtime/rt_clip.c", "sampler->interpolation == HOB_PK_STEP, cursor);", "false, cursor);", "runtime/clip", "step_holds"),
    ("CUBICSPLINE tangents not scaled", "runtime/rt_clip.c", "place.seconds = (float)seconds;", "place.seconds = 1;", "runtime/clip",
     "cubic_follows_its_tangents_scaled_by_the_distance_of_keys"),
    ("CUBICSPLINE outputs taken for values", "runtime/rt_clip.c", "((size_t)key * 3 + 1) * curve->components", "((size_t)key) * curve->components",
     "runtime/clip", "cubic_follows_its_tangents_scaled_by_the_distance_of_keys"),
    ("the long way round", "runtime/rt_clip.c", "float sign = d < 0 ? -1.0f : 1.0f, x", "float sign = 1.0f, x", "runtime/clip",
     "slerp_takes_the_short_way_at_constant_speed"),
    ("time wraps to the start", "runtime/rt_clip.c", "return start + (rest < length ? rest : 0);", "return time >= clip->end ? start : start + rest;",
     "runtime/clip", "time_loops_with_its_remainder_in_both_directions"),
    ("loops ignore the clip's start", "runtime/rt_clip.c", "fmod(time - start, length)", "fmod(time, length)", "runtime/clip",
     "time_loops_with_its_remainder_in_both_directions"),
    ("backwards leaves the clip", "runtime/rt_clip.c", "\tif (rest < 0)\n\t\trest += length;\n", "", "runtime/clip",
     "time_loops_with_its_remainder_in_both_directions"),
    ("cursors trusted", "runtime/rt_clip.c", "key + 1 >= count || !(times[key] <= time) || !(time < times[key + 1])",
     "key + 1 >= count || !(time < times[key + 1])", "runtime/clip", "cursors_never_change_the_result"),
    ("rotations are not normalised", "runtime/rt_clip.c", "\trt_normalise(q);\n\tfor", "\tfor", "runtime/clip", "no_input_gives_a_number_that_is_none"),
    ("matrix and TRS multiplied", "runtime/rt_instance.c", "\tif (in->flags[node] & RT_NODE_MATRIX)\n\t\treturn;\n\trt_compose", "\trt_compose",
     "runtime/instance", "matrices_stay_as_given_until_a_part_is_set"),
    ("only the first changed root is updated", "runtime/rt_instance.c", "node = next_marked(in, end);", "node = HOB_RT_NONE;", "runtime/instance",
     "a_change_of_a_deep_node_alone_and_of_a_second_root_arrives"),
    ("children of a changed node stay", "runtime/rt_instance.c", "end = node + count;", "end = node + 1;", "runtime/instance",
     "update_matches_recomputation_and_touches_changed_subtrees_only"),
    ("everything is computed anew", "runtime/rt_instance.c", "\tuint32_t changed = 0, node = next_marked(in, 0);",
     "\tuint32_t changed = 0, node = 0;", "runtime/instance", "update_matches_recomputation_and_touches_changed_subtrees_only"),
    ("attached models do not know their host", "runtime/rt_instance.c", "set_base(in, hob_rt_global(in->host, in->host_node));", "(void)set_base;",
     "runtime/instance", "attached_instances_follow_and_cost_only_when_their_host_moves"),
    ("inverse bind left out", "runtime/rt_skin.c", "rt_multiply(in->globals + (size_t)from->joints[i] * 16, bind, palette + (size_t)i * 16);",
     "(void)bind;\n\t\tmemcpy(palette + (size_t)i * 16, in->globals + (size_t)from->joints[i] * 16, 64);", "runtime/skin",
     "palettes_are_global_times_inverse_bind"),
    ("one inverse bind matrix per joint", "runtime/rt_skin.c", "a->inverse_binds, first + i)->m;\n\t\trt_multiply", "a->inverse_binds, i)->m;\n\t\trt_multiply",
     "runtime/skin", "skins_over_the_same_joints_have_matrices_of_their_own"),
    ("normals scaled like positions", "runtime/rt_skin.c", "\tfor (int i = 0; i < 12; i++)\n\t\tout[i] *= scale;", "\t(void)scale;\n\tmemcpy(out, m, 48);",
     "runtime/skin", "mirrored_and_flattened_joints_have_normal_matrices_without_surprises"),
    ("morph weights of clips are lost", "runtime/rt_clip.c", "in->weights[i] = pose->weights[i];", "(void)pose;", "runtime/skin",
     "morph_weights_come_from_the_node_the_clip_and_the_caller"),
    # every other format
    ("other formats: the first set of coordinates is used for every texture", "import/collada/collada_material.c", "if (part->uv_set[i] == number)", "if (i == 0)",
     "import/collada", "textures_use_the_set_that_is_bound"),
    ("other formats: what <vertices> says of points goes before what corners say", "import/collada/collada_geometry.c", "k < b->input_count && b->inputs[i].of_vertex",
     "k < b->input_count && false", "import/collada", "corners_say_more_than_points"),
    ("other formats: BEZIER curves are straight lines", "import/collada/collada_curve.c", "bezier || is_cardinal", "false && is_cardinal", "import/collada",
     "curves_that_gltf_can_say_are_said"),
    ("other formats: STEP curves are straight lines", "import/collada/collada_curve.c", 'hob_str_equal(mode, HOB_STR("STEP")) ? HOB_COLLADA_STEP', "false ? HOB_COLLADA_STEP",
     "import/collada", "curves_that_gltf_can_say_are_said"),
    ("other formats: HERMITE tangents are control points", "import/collada/collada_curve.c", 'bool hermite = hob_str_equal(mode, HOB_STR("HERMITE"))', "bool hermite = false",
     "import/collada", "hermite_tangents_are_thirds"),
    ("other formats: named clips of COLLADA are lost", "import/collada/collada_clip.c", '"library_animation_clips", "animation_clip"', '"none", "none"', "import/collada",
     "clips_have_their_names_and_windows"),
    ("other formats: a number with a leading blank is none", "import/xml.c", "while (read < count && (at = skip_blanks(at, end)) < end) {",
     "while (read < count && at < end && (read == 0 || (at = skip_blanks(at, end)) < end)) {", "import/collada", "a_square_becomes_two_triangles_in_metres"),
    ("other formats: the count of a COLLADA array goes before what its accessor needs", "import/collada/collada.c", "return needs > count ? needs : count;",
     "return count;", "import/collada_odd", "an_accessor_knows_better_than_the_count_of_an_array"),
    ("exported clips: a clip ends with its last key", "formats/glb_animation.c", "c->hold = clip->end > ends[1] ? clip->end : 0;", "c->hold = 0;",
     "formats/glb_files", "a_clip_that_ends_standing_still_keeps_its_length"),
    ("exported clips: a curve goes on after its last key", "formats/glb_animation.c", "memset(last + (size_t)n * 2, 0, n * sizeof *values);", "(void)n;",
     "formats/glb_files", "a_clip_that_ends_standing_still_keeps_its_length"),
    ("other formats: 3MF objects of other parts are not there", "import/threemf.c", "path.len > 0 ? open_part(t, path) : part;",
     "part;", "import/threemf", "objects_of_other_parts_are_built"),
    ("other formats: modifiers of 3MF slicers are solid", "import/threemf.c", "owner != HOB_NONE && setting && setting->helper", "false", "import/threemf",
     "helpers_of_slicers_are_no_shape"),
    ("other formats: modifiers of PrusaSlicer are solid", "import/threemf_slicer.c", "bucket_of[at] = s->helper ? HOB_NONE : 0;", "bucket_of[at] = 0;", "import/threemf",
     "helpers_of_slicers_are_no_shape"),
    ("other formats: 3MF colour groups are lost", "import/threemf_material.c", 'look.colored = hob_xml_is(group->element, HOB_STR("colorgroup"));', "look.colored = false;",
     "import/threemf", "colours_and_textures_reach_the_corners"),
    ("other formats: 3MF textures are lost", "import/threemf_material.c", 'look.textured = hob_xml_is(group->element, HOB_STR("texture2dgroup"));', "look.textured = false;",
     "import/threemf", "colours_and_textures_reach_the_corners"),
    ("other formats: 3MF alpha is lost", "import/threemf_material.c", "if (color[3] < 1)\n\t\tmaterial.alpha_mode", "if (false)\n\t\tmaterial.alpha_mode", "import/threemf",
     "base_materials_cut_an_object"),
    ("other formats: a 3MF file without triangles cooks", "import/threemf.c", "if (t->lists.meshes.size == 0)", "if (false)", "import/threemf",
     "what_would_run_away_is_refused"),
    ("other formats: USE of X3D vanishes", "import/x3d/x3d.c", 'hob_str use = hob_xml_attr(e, HOB_STR("USE"))', 'hob_str use = hob_xml_attr(e, HOB_STR("UZE"))', "import/x3d",
     "what_is_used_again_is_there_again"),
    ("other formats: the second volume of AMF is lost", "import/amf.c", 'read_volume(a, object, v, &list, index++);', "if (index++ == 0)\n\t\t\t\tread_volume(a, object, v, &list, 0);", "import/amf", "every_volume_is_a_mesh"),
    ("other formats: colours of AMF are lost", "import/amf.c", 'hob_xml_child(owner, HOB_STR("color"));\n\tif (!color)', 'hob_xml_child(owner, HOB_STR("color"));\n\tif (true)',
     "import/amf", "the_nearest_colour_counts"),
    ("other formats: colours of COFF are lost", "import/off.c", "if (colors == 3 || colors == 4) {\n\t\tfloat *to", "if (false) {\n\t\tfloat *to", "import/off",
     "vertices_have_colours"),
    ("other formats: joints of IQM are lost", "import/iqm.c", ".joint_count = count}", ".joint_count = 0}", "import/quake", "joints_and_clips_of_iqm"),
    ("other formats: clips of IQM stand still", "import/iqm.c", "f < frames; f++) {\n", "f < 0; f++) {\n", "import/quake", "joints_and_clips_of_iqm"),
    ("other formats: frames of IQM in which nothing moves take memory", "import/iqm.c", "<< paths[i % 3].width) - 1)) != 0;",
     "<< paths[i % 3].width) - 1)) != 99;", "import/quake", "frames_without_numbers_cost_nothing"),
    ("other formats: frames of MD2 are lost", "import/md2.c", "m->target_count = targets;", "m->target_count = 0;", "import/quake", "frames_of_md2_are_targets_and_clips"),
    ("other formats: ZBrush's colours are lost", "import/obj_data.c", '*p->at == \'#\' && takes_keyword(p, "#MRGB")', '*p->at == \'#\' && takes_keyword(p, "#NONE")', "import/obj",
     "polypaint_of_zbrush_is_colour"),
    ("other formats: the setting of colours does nothing", "import/space.c", "if (differs(space->material_colors, override->colors))", "if (false)", "import/space",
     "colors_are_read_as_told"),
    ("other formats: XML entities are expanded", "import/xml.c", "XML_SetEntityDeclHandler(b->parser, on_entity);", "(void)on_entity;", "import/xml", "entities_are_refused"),
    ("other formats: long texts of comments are text", "import/xml.c", "b->tag_end != begin || ", "", "import/xml",
     "long_texts_are_text_where_they_stand_in_an_element"),
    ("other formats: XML has any depth", "import/xml.c", "if (++b->depth > HOB_LIMIT_XML_DEPTH)", "if (++b->depth > 900000)", "import/xml", "depth_has_a_limit"),
    ("other formats: alpha of 3MF colour groups is lost", "import/threemf_material.c", "bool blends = color[3] < 1;", "bool blends = false;", "import/threemf",
     "colours_and_textures_reach_the_corners"),
    ("other formats: helpers of Cura are solid", "import/threemf_slicer.c", 'hob_str_equal_nocase(hob_xml_text(e), HOB_STR("true"))', "false", "import/threemf",
     "helpers_of_cura_are_no_shape"),
    ("other formats: line sets of X3D are lost", "import/x3d/x3d_geometry.c", '{"IndexedLineSet", line_set}', '{"IndexedLines", line_set}', "import/x3d", "lines_and_points_are_not_lit"),
    ("other formats: Text of X3D vanishes without a word", "import/x3d/x3d_node.c", "hob_x3d_unread(x, geometry);", ";", "import/x3d", "what_is_no_shape_is_told_by_its_name"),
    ("other formats: hidden nodes of COLLADA show", "import/collada/collada_node.c", "node_at(c, id)->hidden = is_hidden(element);", "(void)is_hidden;",
     "import/collada_odd", "hidden_nodes_are_told"),
    ("other formats: 64-bit sizes of packages are not read", "import/zip.c", "bool wide = hob_load_u16(extra) == WIDE;", "bool wide = false;", "import/zip",
     "numbers_of_64_bits_are_read"),
    ("other formats: a new .blend goes to Assimp where Blender is missing", "import/blend.c", "if (is_new(head))", "if (false)", "import/blend",
     "without_an_editor_new_files_are_skipped_and_old_ones_passed_on"),
    # the daemon's rules
    ("rules: a pause does not grow", "server/cook/asset.c", "a->retry.wait_ms * 2 > lost_ms ? a->retry.wait_ms * 2 : lost_ms",
     "a->retry.wait_ms * 1 > lost_ms ? a->retry.wait_ms * 1 : lost_ms", "srv_cook/asset", "a_wait_doubles_to_a_minute"),
    ("rules: a changeset holds eighty changes", "server/cook/changeset_rule.c", "f->held >= SRV_CHANGESET_MOST_HELD", "f->held >= 80", "srv_cook/changeset_rule",
     "so_many_are_held_and_no_more"),
    ("rules: one reason is kept", "server/cook/asset.c", "if (next->why_count >= SRV_ASSET_REASONS_MAX)", "if (next->why_count >= 1)", "srv_cook/asset",
     "eight_reasons_are_kept"),
    ("rules: one new file is looked at in a tick", "server/watch/watch_settle.c", "LOOKS_PER_TICK = 256", "LOOKS_PER_TICK = 1", "srv_watch/settle",
     "a_tick_looks_at_256_files_and_the_next_one_at_more"),
    ("rules: a file that is saved again waits for others", "server/watch/watch_settle.c", "if (!s->alone || !is_alone(s))", "if (true)", "srv_watch/saves",
     "same_file_saved_again_does_not_wait_for_the_window"),
    ("rules: settings have three layers", "server/settings/chain.c", "i < asset.len; i++) {\n\t\tbool top = i == 0 && from == HOB_NONE;",
     "i < asset.len; i++) {\n\t\tstatic int layers;\n\t\tlayers = i == 0 ? 0 : layers + (asset.data[i] == '/');\n\t\tif (layers > 3) break;\n"
     "\t\tbool top = i == 0 && from == HOB_NONE;", "srv_settings/chain", "every_depth_has_one_layer_a_folder"),
    ("rules: a file that was missing and came changes nothing", "server/cook/inputs.c", "return then.missing && !now.exists;", "return then.missing;",
     "srv_cook/inputs", "every_pair"),
    ("rules: a failed asset is published as good without a job", "server/cook/asset.c", "ON(GOOD)          {NEVER,         NEVER,         NEVER,",
     "ON(GOOD)          {NEVER,         NEVER,         {IDLE, P},", "srv_cook/asset", "every_cell_is_as_the_table_says"),
    ("rules: a waiter is answered twice", "server/cook/waiter.c", "\t\t\tend(w, SRV_WAITER_DONE, calls);\n",
     "\t\t\tend(w, SRV_WAITER_DONE, calls), waiters->items[kept++] = *w;\n", "srv_cook/waiter", "each_is_answered_once"),
    ("rules: a sync of one folder waits for all", "server/cook/waiter.c", "\t\tw.some_roots = w.some_roots || rounds[i] == 0;\n", "\t\tw.some_roots = false;\n",
     "srv_cook/waiter", "everything_takes_two_scans_of_each_root"),
    ("rules: a result of older bytes is fresh", "server/cook/asset.c", "case SRV_STANDING_UPDATING:\n\t\treturn SRV_STALE;", "case SRV_STANDING_UPDATING:\n\t\treturn SRV_FRESH;",
     "srv_cook/asset", "a_result_of_older_bytes_is_stale"),
    ("rules: settings are read through a link that leaves the root", "server/settings/chain.c", "fd = srv_open_beneath(root_fd, path, O_RDONLY, true);",
     "fd = openat(root_fd, path, O_RDONLY);", "srv_settings/chain", "nothing_outside_the_root_is_read"),
    ("rules: a second crash is tried again", "server/cook/judge.c", "tries->crashes == 1", "tries->crashes <= 2", "srv_cook/judge", "the_second_crash_is_the_files"),
    ("rules: a deleted asset keeps its good version", "server/cook/asset.c", "\tcase SRV_ASSET_GONE:\n\t\ta->has_good", "\t\ta->has_good", "srv_cook/asset",
     "what_is_deleted_is_forgotten"),
    ("rules: what waits is blocked when its culprit fails", "server/cook/asset.c",
     "{IDLE, P},     {BACKOFF, P},  SKIP,\n\t                   SKIP,",
     "{IDLE, P},     {BACKOFF, P},  SKIP,\n\t                   {QUEUED, P},", "srv_cook/asset",
     "what_waits_is_not_blocked_by_another"),
    ("rules: an event leaves before its row", "server/cook/publish.c", "\tif (p->rows && !srv_store_commit", "\tsend_some(p, events);\n\tif (p->rows && !srv_store_commit",
     "srv_cook/publish", "rows_then_view_then_events"),
    ("rules: a plain request takes the place of a forced one", "server/cook/asset.c", "next->force = next->force || e->force;", "next->force = e->force;", "srv_cook/asset",
     "who_asks_by_force_gets_it_whatever_others_ask"),
    ("rules: names that are not UTF-8 are written as text", "server/store/record.c", "if (value.len == 0 || (hob_utf8_valid(value) && !memchr(value.data, 0, value.len))) {",
     "if (true) {", "srv_store/record", "order_does_not_matter_and_every_text_comes_back"),
    ("rules: 'retry' is added to what is queued", "server/cook/asset.c",
     "{QUEUED, N|T}, {QUEUED, N|T},\n\t                   NEVER,                  NEVER,                  NEVER},\n\tON(WORKERS_BACK)",
     "{QUEUED, N|T}, {QUEUED, N|T},\n\t                   {QUEUED, N},            NEVER,                  NEVER},\n\tON(WORKERS_BACK)", "srv_cook/asset",
     "every_cell_is_as_the_table_says"),
    ("rules: after one whole cook the next save cuts nothing", "server/cook/asset.c", "\ta->next = (srv_asset_next){0};\n}",
     "\ta->next = (srv_asset_next){.cuts = a->next.cuts};\n}", "srv_cook/asset", "of_two_saves_in_a_row_the_second_cook_finishes"),
    ("trust: a signal from outside is the model's fault", "server/worker/process_state.c", 'hob_fail(error, INTERRUPTED, "the cook process was ended from outside',
     'hob_fail(error, CRASHED, "the cook process was ended from outside', "srv_worker/process_state", "every_other_signal_came_from_outside"),
    ("trust: the kernel's OOM killer is not told", "server/worker/process_state.c", "if (oom && number == SIGKILL) {", "if (false) {", "srv_worker/process_state",
     "every_other_signal_came_from_outside"),
    ("trust: a result that could not be sent is a crash", "server/worker/process_state.c", "\telse if (WEXITSTATUS(status) == SRV_WORKER_HELD_UP)", "\telse if (false)",
     "srv_worker/process_state", "a_result_that_could_not_be_sent_is_not_the_models"),
    ("trust: pages of files count as memory", "server/worker/process_state.c", "(pages[1] - pages[2]) *", "(pages[1] - 0) *", "srv_worker/process_state",
     "pages_of_files_are_not_a_processs_own"),
    ("trust: OOM kills of v2 are not counted", "server/worker/machine.c", '"memory.events", "oom_kill "},', '"memory.events", "none "},', "srv_worker/machine",
     "v2_counts_every_level_without_what_can_be_reclaimed"),
    ("trust: OOM kills of v1 are not counted", "server/worker/machine.c", '"memory.oom_control", "oom_kill "', '"memory.oom_control", "none "', "srv_worker/machine",
     "v1_without_a_limit_says_a_large_number"),
    ("trust: the limit of the container does not count", "server/worker/machine.c", "left < out->available ? left : out->available", "out->available", "srv_worker/machine",
     "v2_counts_every_level_without_what_can_be_reclaimed"),
    ("trust: a death from outside is remembered", "server/cook/judge.c", "tries->again == 0 && !f->stalled ? again(tries) : SRV_VERDICT_PASSING",
     "tries->again == 0 && !f->stalled ? again(tries) : SRV_VERDICT_KEEP_CRASH", "srv_cook/judge", "a_death_from_outside_is_never_kept"),
    ("trust: a worker may list anything", "server/worker/result.c", "(count > most || (size_t)", "((size_t)", "srv_worker/result", "lists_have_limits"),
    ("trust: a worker may say texts of any size", "server/worker/result.c", "TEXT_MAX = 4096", "TEXT_MAX = 4096 << 8", "srv_worker/result", "texts_have_limits"),
    ("trust: the ring of events grows", "server/events/events.c", "RING_BYTES_MAX = 64 << 20", "RING_BYTES_MAX = 1 << 30", "srv_events/ring", "the_ring_is_bounded_in_bytes_too"),
    ("trust: rows of changes are kept for ever", "server/store/store_rows.c", "CHANGES_KEPT = 100000", "CHANGES_KEPT = 100000000", "srv_store/rows",
     "changes_are_listed_oldest_first_and_trimmed"),
    ("trust: a worker may give its socket an owner", "server/worker/sandbox.c", "F_GET_SEALS, F_GETLEASE};", "F_GET_SEALS, F_SETOWN};",
     "srv_worker/sandbox", "fcntl_of_a_worker"),
    ("trust: a worker may choose any signal", "server/worker/sandbox.c", "SCMP_CMP_EQ, SIGURG, 0", "SCMP_CMP_NE, 0, 0", "srv_worker/sandbox", "fcntl_of_a_worker"),
    ("trust: a worker may lease for writing", "server/worker/sandbox.c", "leases[] = {F_RDLCK, F_UNLCK}", "leases[] = {F_RDLCK, F_WRLCK}",
     "srv_worker/sandbox", "fcntl_of_a_worker"),
    ("trust: memory of a worker may be code", "server/worker/sandbox.c", ".datum_a = PROT_EXEC, .datum_b = 0", ".datum_a = 0, .datum_b = 0",
     "srv_worker/sandbox", "memory_of_a_worker"),
    ("trust: a worker may take huge pages", "server/worker/sandbox.c", "MAP_HUGETLB | MAP_LOCKED", "MAP_LOCKED", "srv_worker/sandbox", "memory_of_a_worker"),
    ("trust: a worker may lock memory", "server/worker/sandbox.c", "MAP_HUGETLB | MAP_LOCKED", "MAP_HUGETLB", "srv_worker/sandbox", "memory_of_a_worker"),
    ("trust: a worker may send urgent bytes", "server/worker/sandbox.c", "SCMP_A2(SCMP_CMP_EQ, MSG_NOSIGNAL, 0)", "SCMP_A2(SCMP_CMP_NE, 99, 0)",
     "srv_worker/sandbox", "messages_of_a_worker"),
    ("trust: a worker may fork", "server/worker/sandbox.c", "makes_code ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EAGAIN), SCMP_SYS(clone)", "SCMP_ACT_ALLOW, SCMP_SYS(clone)",
     "srv_worker/sandbox", "threads_of_a_worker"),
    ("trust: a process that draws may fork", "server/worker/sandbox.c", "SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)", "SCMP_A0(SCMP_CMP_MASKED_EQ, 0, 0)",
     "srv_worker/sandbox", "a_thumbnail_makes_code_only"),
    ("trust: a worker may signal others", "server/worker/sandbox.c", "SCMP_SYS(tgkill), 1, own_process", "SCMP_SYS(tgkill), 0",
     "srv_worker/sandbox", "processes_and_signals_of_a_worker"),
    ("trust: a worker may queue signals", "server/worker/sandbox.c", "limit(RLIMIT_SIGPENDING, 0)", "true",
     "srv_worker/sandbox", "processes_and_signals_of_a_worker"),
    ("trust: pictures may be drawn with any fcntl", "server/worker/sandbox.c", "ok = ok && allow_fcntl(filter) && (", "ok = ok && (makes_code ? seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 0) == 0 : allow_fcntl(filter)) && (",
     "srv_worker/sandbox", "a_thumbnail_makes_code_only"),
    ("trust: Blender may limit the daemon", "server/worker/sandbox.c", "SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0, 0),\n\t\t\t\t\t\t\t\tSCMP_A2(SCMP_CMP_EQ, 0, 0))", "SCMP_SYS(prlimit64), 0)",
     "srv_worker/sandbox", "a_program_reaches_no_other_process"),
    ("trust: Blender may send the daemon a signal", "server/worker/sandbox.c", "SCMP_SYS(kill), 1, SCMP_A0(SCMP_CMP_EQ, own, 0))", "SCMP_SYS(kill), 0)",
     "srv_worker/sandbox", "a_program_reaches_no_other_process"),
    ("trust: Blender may slow the daemon", "server/worker/sandbox.c", '"getrusage getrlimit execve exit exit_group"', '"getrusage getrlimit execve exit exit_group setpriority"', "srv_worker/sandbox", "a_program_reaches_no_other_process"),
    ("trust: Blender may give its pipe an owner", "server/worker/sandbox.c", "{SCMP_SYS(fcntl), {1, SCMP_CMP_EQ, F_GETFL, 0}},", "{SCMP_SYS(fcntl), {1, SCMP_CMP_EQ, F_GETFL, 0}}, {SCMP_SYS(fcntl), {1, SCMP_CMP_EQ, F_SETOWN_EX, 0}},",
     "srv_worker/sandbox", "descriptors_of_a_program"),
    ("trust: a wide command passes", "server/worker/sandbox.c", "{SCMP_SYS(fcntl), {1, SCMP_CMP_EQ, F_GETFL, 0}},", "{SCMP_SYS(fcntl), {1, SCMP_CMP_MASKED_EQ, 0xffffffff00000000, 0x100000000}},",
     "srv_worker/sandbox", "descriptors_of_a_program"),
    ("trust: Blender may make pairs of sockets", "server/worker/sandbox.c", '"getrusage getrlimit execve exit exit_group"', '"getrusage getrlimit execve exit exit_group socketpair"', "srv_worker/sandbox", "descriptors_of_a_program"),
    ("trust: Blender may take the user's watches", "server/worker/sandbox.c", '"getrusage getrlimit execve exit exit_group"', '"getrusage getrlimit execve exit exit_group inotify_init1"', "srv_worker/sandbox", "descriptors_of_a_program"),
    ("trust: a second descriptor stays", "server/worker/protocol.c", "arrived <= 1 && ", "",
     "srv_worker/protocol", "only_one_descriptor_is_taken_and_no_other_stays"),
    ("trust: two outputs may have one name", "server/worker/check.c", "if (other[which])", "if (false)", "srv_worker/check", "each_name_comes_once"),
    ("trust: a texture may have any name", "server/worker/check.c", "hob_str_equal(name, hob_str_of(text)) ? number", "true ? number",
     "srv_worker/check", "only_names_of_a_cook_pass"),
    ("trust: a worker may claim any number of parts", "server/worker/part_claims.c", "count_of(claims, claim->worker) >= CLAIMS_OF_ONE_MAX", "false",
     "srv_worker/part_claims", "one_worker_has_so_many_claims"),
    ("trust: a failure may have no code", "server/worker/result.c", "(r->ok || code != HOB_ERR_OK)", "true", "srv_worker/result", "a_failure_has_a_code"),
    ("trust: shells run names", "web/app/snippets.js", "quoteShell = (value) => ", "quoteShell = (value) => `\"${value}\"` || ",
     "web/snippets", "a shell reads each name"),
    ("trust: JavaScript runs names", "web/app/snippets.js", "quoteJs = (value) => ", "quoteJs = (value) => `'${value}'` || ",
     "web/snippets", "JavaScript reads each name"),
    ("trust: C runs names", "web/app/snippets.js", "quoteC = (value) => ", "quoteC = (value) => `\"${value}\"` || ", "web/snippets", "C"),
    ("trust: Python runs names", "web/app/snippets.js", "quotePython = (value) => ", "quotePython = (value) => `\"${value}\"` || ", "web/snippets", "Python"),
    ("trust: doctor calls every sandbox good", "server/cli/doctor.c", "if (strstr(sandbox, \"no \"))", "if (false)", "test_cli.py",
     "test_layers_of_the_sandbox_that_hold_here"),
    ("trust: a file above the limit is not refused by its size", "server/engine/engine_cook.c", "source->stat.size > engine->options.pool.source_limit", "false",
     "test_hostile.py", "test_files_above_the_limit_are_refused_by_their_size"),
    ("trust: hashing is not interrupted", "server/fs/transfer.c", "stop && atomic_load(stop)", "stop && !stop", "test_upsets.py", "test_sigterm_amid_all_its_work"),
    ("trust: Blender's mounts may be written", "server/worker/own_mounts.c", "MOUNT_ATTR_RDONLY | ", "", "test_blend.py",
     "test_its_mounts_can_only_be_read_and_its_folder_has_a_size"),
    ("trust: Blender's folder has no size", "server/worker/own_mounts.c", "(unsigned long long)bytes", "(unsigned long long)bytes * 16", "test_blend.py",
     "test_its_mounts_can_only_be_read_and_its_folder_has_a_size"),
    ("trust: Blender's log may be a pipe", "server/worker/pool_export.c", "\"log\", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC", "\"log\", O_RDONLY | O_NOFOLLOW | O_CLOEXEC",
     "test_blend.py", "test_what_goes_wrong_with_it_is_told"),
    ("trust: after a death from outside it is tried again at once, for ever", "server/cook/asset.c", "a->retry.wait_ms * 2 > lost_ms ? a->retry.wait_ms * 2 : lost_ms", "lost_ms",
     "srv_cook/asset", "a_wait_after_interruptions_grows_to_a_quarter_of_an_hour"),
    ("trust: a remembered death is never doubted", "server/engine/engine_limits.c", "\treturn age >= DAY_MS ||", "\tif (age < INT64_MAX)\n\t\treturn false;\n\treturn age >= DAY_MS ||", "test_workers.py",
     "test_a_remembered_death_is_tried_again_after_a_day_and_when_the_clock_was_wrong"),
    ("trust: who asks is answered with a remembered death", "server/engine/engine_requests.c", "control->force || a->error.size > 0", "control->force", "test_workers.py",
     "test_a_person_who_asks_is_never_answered_with_a_remembered_death"),
    ("trust: a process keeps the capabilities of root", "server/worker/sandbox.c", "syscall(SYS_capset, &head, caps)", "(void)head", "test_contained.py",
     "test_a_worker_holds_nothing_of_worth"),
    ("trust: landlock is not asked for", "server/worker/sandbox.c", "ok = ok && syscall(SYS_landlock_restrict_self, fd, 0) == 0;", "", "test_contained.py",
     "test_a_worker_that_was_taken_over_gets_nowhere"),
    ("trust: a worker's digests of files are believed", "server/engine/engine_finish.c", "\tfind_unlisted(job, f, file);\n",
     "\tfind_unlisted(job, f, file);\n\tif (!f->has_digest) {\n\t\tf->digest = dep->digest;\n\t\tf->has_digest = f->exists;\n\t}\n", "test_rogue.py",
     "test_digests_of_files_are_made_here"),
    ("trust: an answer is read in one turn", "server/engine/engine_kit.c", "bool has = done < AT_LEAST ||", "bool has = true ||",
     "test_rogue.py", "test_an_answer_that_names_thousands_of_files_takes_many_turns"),
    ("trust: memory of closed connections stays", "server/engine/engine_upkeep.c", "\t\tmalloc_trim(0);\n", "", "test_bounds.py", "test_memory_of_closed_connections_goes_back"),
    ("trust: names are text", "server/http/request.c", 'hob_str_equal(name, HOB_STR("asset"));\n', 'false;\n\t\traw = false;\n', "test_contract.py", "test_6_cooks_and_jobs"),
    ("trust: an id is no asset in a list of jobs", "server/http/route_loop.c", "return known ? known->full : asset;", "return asset;", "test_contract.py", "test_6_cooks_and_jobs"),
    ("trust: a full disk is ready", "server/http/route_facts.c", '{"disk", disk.size <= 1,', '{"disk", true,', "test_damage.py", "test_full_disk"),
    ("trust: the library answers heads in HTML", "server/http/refuse.c", "\tif (status == 505)", "\tif (true)", "test_adversary.py", "test_checklist"),
    ("trust: changes without an event are missed", "server/engine/engine_sources.c", "AT_LEAST = 32", "AT_LEAST = 0", "test_watch_modes.py", "test_changes_without_an_event_are_found"),
    ("trust: its own memory limit is not told", "server/worker/process_state.c", "if (was_out_of_memory(status, peak_bytes, memory_limit)) {", "if (false) {", "srv_worker/process_state",
     "its_own_limits_are_named"),
    ("trust: the filter and assertions are from outside", "server/worker/process_state.c", "if (deaths[i].number == number) {", "if (false) {", "srv_worker/process_state",
     "faults_assertions_and_the_filter_are_the_models"),
    ("trust: last words are lost", "server/worker/pool_process.c", "\tsrv_pool_hear_last(w);\n", "", "test_rogue.py", "test_what_a_process_said_before_it_died_is_heard"),
    # dependencies of a cook: each kind is left out once
    ("questions: a file that was read is forgotten", "server/worker/root_io.c", FORGOTTEN[0], FORGOTTEN[1] % "io->deps[i].missing || srv_spelling_is(io->deps[i].path)",
     "test_incremental.py", "test_changed_texture_cooks_exactly_its_dependents"),
    ("questions: a file that was missed is forgotten", "server/worker/root_io.c", FORGOTTEN[0], FORGOTTEN[1] % "!io->deps[i].missing || srv_spelling_is(io->deps[i].path)",
     "test_spellings.py", "test_something_else_has_the_name"),
    ("questions: a spelling that was found is forgotten", "server/worker/root_io.c", FORGOTTEN[0], FORGOTTEN[1] % "io->deps[i].missing || !srv_spelling_is(io->deps[i].path)",
     "test_spellings.py", "test_by_events"),
    ("questions: a spelling that was not found is forgotten", "server/worker/root_io.c", FORGOTTEN[0], FORGOTTEN[1] % "!io->deps[i].missing || !srv_spelling_is(io->deps[i].path)",
     "test_spellings.py", "test_by_events"),
    ("questions: the list of the names is forgotten", "server/fs/spelling.c", "hob_hasher_put(hasher, name, strlen(name) + 1);", ";",
     "test_spellings.py", "test_by_events"),
    ("questions: a link that leaves the root is forgotten", "server/worker/root_io.c", FORGOTTEN[0], FORGOTTEN[1] % "io->files[i]->error.code != HOB_ERR_OUTSIDE",
     "test_links.py", "test_a_link_that_leaves_the_root_comes_and_goes"),
    ("questions: what is above the root is forgotten", "server/worker/root_io.c", "io->left_root || !absolute", "false",
     "test_cook_cache.py", "test_a_reference_above_the_root_holds_only_there"),
    ("questions: the model's own name is forgotten", "cook/cook.c", "\t\tc->asked_by_name = true;\n", "\t\t;\n",
     "test_incremental.py", "test_a_copy_that_asks_by_its_own_name_is_cooked"),
    ("questions: a folder with the model's own name is forgotten", "cook/cook.c", "hob_str_find(below, c->stem, 0)", "hob_str_find(hob_path_name(below), c->stem, 0)",
     "test_incremental.py", "test_a_copy_that_asks_by_its_own_name_is_cooked"),
    ("questions: a file that Blender read is forgotten", "server/worker/editor.c", "(void)io.read(io.user, path, &bytes, &missing);", ";",
     "test_blend.py", "test_what_it_read_is_a_dependency"),
    ("questions: a link on the way is forgotten", "server/watch/watch_extra.c", "\t\tput_way(&ways, place);\n\t\tlen = before;\n", "\t\tlen = before;\n",
     "test_links.py", "test_each_link_on_the_way_and_each_folder_that_it_leads_through"),
    ("questions: a folder that is not there yet is forgotten", "server/watch/watch_extra.c", "\t\t\tbreak;\n\t\t}\n\t\tif (size < 0)", "\t\t\treturn ways;\n\t\t}\n\t\tif (size < 0)",
     "test_links.py", "test_dependency_that_appears_with_its_hidden_folder"),
    ("questions: an unreadable file is forgotten", "server/worker/root_io.c", "io->deps[i].missing = io->files[i]->failed;", "",
     "test_spellings.py", "test_something_else_has_the_name"),
    ("trust: who is gone is counted", "server/cook/job.c", "ON(DROP)           {AT_REST(GO(OVER, END)),", "ON(DROP)           {AT_REST(LEAVES),", "test_rogue.py", "test_jobs_are_listed_while_the_file_of_one_that_waits_is_gone"),
]

WORKERS = ("server/worker/root_io.c", "server/worker/editor.c", "cook/cook.c")
FLAGS = ["-O1", "-std=gnu11", "-D_GNU_SOURCE", "-w", "-ffp-contract=off", f"-I{ROOT}", f'-DHOB_TEST_DATA="{ROOT}/tests/data"', '-DHOB_VERSION="mutant"']
FLAGS += subprocess.run(["pkg-config", "--cflags", "libcjson"], capture_output=True, text=True).stdout.split()
LIBRARIES = ["-lcmocka", "-lassimp", "-lmeshoptimizer", "-lcjson", "-lzstd", "-ldeflate", "-lcrypto", "-lxxhash", "-lexpat", "-luv", "-lsqlite3", "-lseccomp", "-lmicrohttpd", "-lstdc++", "-lm", "-lpthread"]


def optional_libraries():
    found = subprocess.run(["pkg-config", "--libs", "libwebp", "draco"], capture_output=True, text=True).stdout.split()
    return found + (["-lastcenc"] if pathlib.Path("/usr/include/astcenc.h").exists() else [])


def place_of(file):
    return ROOT / (file if file.startswith(("server/", "web/")) else f"core/{file}")


def compiled(source, out, include):
    """Compiles `source` to `out`; returns None on failure."""
    built = subprocess.run(["cc", *FLAGS, f"-I{include}", "-c", str(source), "-o", str(out)], capture_output=True, text=True)
    if built.returncode:
        print(built.stderr[:600])
        return None
    return out


def failing(build, folder, file, text, program, objects):
    """Names of the tests of `program` that fail with `text` in place of `file`; everything else is from the libraries."""
    source = folder / "mutant.c"
    source.write_text(text)
    mutant = compiled(source, folder / "mutant.o", place_of(file).parent)
    if mutant is None:
        return None
    if program not in objects:
        objects[program] = compiled(ROOT / f"tests/unit/{program}.c", folder / (program.replace("/", "_") + ".o"), ROOT)
    linked = subprocess.run(["cc", str(mutant), str(objects[program]), "-Wl,--start-group", *map(str, build.glob("lib*_*.a")), "-Wl,--end-group",
                             *LIBRARIES, *optional_libraries(), "-o", str(folder / "test")], capture_output=True, text=True)
    if linked.returncode:
        print(linked.stderr[:600])
        return None
    try:
        ran = subprocess.run([folder / "test"], capture_output=True, text=True, timeout=120, errors="replace")
    except subprocess.TimeoutExpired:
        return ["it does not end"]
    return [line.split("] ")[1] for line in (ran.stdout + ran.stderr).splitlines() if line.startswith("[  FAILED  ] ")] or (
        ["it crashes"] if ran.returncode else [])


def failing_in_node(folder, file, text, program):
    test = folder / f"tests/unit/{program}.test.mjs"
    for path, what in ((folder / file, text), (test, (ROOT / f"tests/unit/{program}.test.mjs").read_text())):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(what)
    ran = subprocess.run(["node", "--test", str(test)], capture_output=True, text=True, timeout=120, errors="replace")
    return [line for line in ran.stdout.splitlines() if "not ok" in line or "\N{HEAVY BALLOT X}" in line]


def failing_scenario(build, folder, file, text, scenario, test):
    """Runs a test with the programs of `file`, in which `text` replaces it: [test] if it fails, [] if not, None if they do not
    build."""
    names = ("hob-worker", "rogue_worker") if file == "server/worker/sandbox.c" else ("hob-worker",) if file in WORKERS else ("hob",)
    source, mutant, programs = folder / "mutant.c", folder / "mutant.o", folder / "programs"
    source.write_text(text)
    if compiled(source, mutant, place_of(file).parent) is None:
        return None
    programs.mkdir(exist_ok=True)
    for program in ("hob", *(found.name for pattern in ("hob-*", "rogue_*", "lib*.so") for found in build.glob(pattern))):
        (programs / program).unlink(missing_ok=True)
        if program == "hob-worker-lean" and "hob-worker" in names:
            continue  # hob-worker takes its place
        if program in names:
            link = subprocess.run(["ninja", "-t", "commands", "-s", program], cwd=build, capture_output=True, text=True).stdout.splitlines()[-1]
            before, _, after = link.partition(f" -o {program} ")
            own = f"/{file}.o"  # an object of the program itself, not of a library
            before, after = (" ".join(word for word in part.split(" ") if not word.endswith(own)) for part in (before, after))
            linked = subprocess.run(f"{before} -o {programs}/{program} {mutant} {after}", shell=True, cwd=build, capture_output=True, text=True)
            if linked.returncode:
                print(linked.stderr[:600])
                return None
        elif program == "hob":  # it looks for the others in its own folder
            shutil.copy(build / program, programs)
        else:
            (programs / program).symlink_to((build / program).resolve())
    surroundings = os.environ | {"HOB": str(programs / "hob"), "HOB_TEST_DEADLINE": "60"}
    ran = subprocess.run([sys.executable, str(ROOT / "tests/integration" / scenario), "-k", test], capture_output=True, text=True, env=surroundings)
    return [test] if ran.returncode else []


def main():
    build, word = pathlib.Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    missed = tried = 0
    objects = {}
    with tempfile.TemporaryDirectory() as name:
        for mistake, file, before, after, program, test in MISTAKES:
            if word not in mistake:
                continue
            tried += 1
            text = place_of(file).read_text()
            if before not in text:
                print(f"STALE     {mistake}: {file} has no '{before}' any more", flush=True)
                missed += 1
                continue
            text, folder = text.replace(before, after), pathlib.Path(name)
            if program.endswith(".py"):
                red = failing_scenario(build, folder, file, text, program, test)
            elif file.startswith("web/"):
                red = failing_in_node(folder, file, text, program)
            else:
                red = failing(build, folder, file, text, program, objects)
            seen = bool(red) and (any(test in line for line in red) or red in (["it does not end"], ["it crashes"]))
            missed += not seen
            shown = program if program.endswith(".py") else f"{program}.test.mjs" if file.startswith("web/") else f"{program}.c"
            print(f"{'seen     ' if seen else 'NOT SEEN '} {mistake}: {shown} {test}" + ("" if seen else f" (red: {red})"), flush=True)
    print(f"{tried - missed} of {tried} mistakes are seen")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
