/* Stages with features that this build of OpenUSD does not know (expressions) or draw (UsdSkel), for usd_live.mjs. The
 * results are derived here from the definitions: `expect` checks the model, `boxes` gives the bounds of all points at
 * times. */
import { GREEN, RED, W, bound, diffuse, look, move, sets, square, stage, two, usda, variants } from './usd_stages.mjs';
import { also, c, d, isRed, meters, spans } from './usd_odd.mjs';

/* ---- expressions */

const says = (lines) => `${meters}\nexpressionVariables = {\n${lines}\n}`;
const AT = (inside) => '@`' + inside + '`@';
const b = W(square('M', 2)), other = c(W(square('N', 9)));

const expressions = [
	['a reference by a variable', two(W('', `references = ${AT('"${NAME}.usda"')}`), b, says('string NAME = "b"')), ['stage.usda', 'NAME = "b"', 'NAME = "c"'], { expect: spans([2, 3]) }],
	['a sublayer by a variable', two('', b, `${says('string NAME = "b"')}\nsubLayers = [${AT('"./${NAME}.usda"')}]`), ['stage.usda', 'NAME = "b"', 'NAME = "c"'], { expect: spans([2, 3]) }],
	['a payload by a variable alone', two(W('', `payload = ${AT('${FILE}')}`), b, says('string FILE = "b.usda"')), ['stage.usda', '"b.usda"', '"c.usda"'], { expect: spans([2, 3]) }],
	['a choice by a variable', stage(W(variants('v', { x: square('M', 2), y: square('N', 9) }), sets('v', '`${WHICH}`')), says('string WHICH = "x"')), ['stage.usda', 'WHICH = "x"', 'WHICH = "y"'], { expect: spans([2, 3]) }],
	['a variable in a variable', two(W('', `references = ${AT("'${FILE}'")}`), b, says('string FILE = "`\'${NAME}.usda\'`"\nstring NAME = "b"')), ['stage.usda', 'NAME = "b"', 'NAME = "c"'], { expect: spans([2, 3]) }],
	['variables in a circle name nothing', two(W(square('N', 9), `references = ${AT("'${A}.usda'")}`), b, says('string A = "`\'${B}\'`"\nstring B = "`\'${A}\'`"')), ['stage.usda', "\"`'${A}'`\"", '"b"'], { expect: spans([9, 10]) }],
	['the stage is stronger than what it refers to', also(two(W('', 'references = @b.usda@'), W('', `references = ${AT('"${NAME}.usda"')}`), says('string NAME = "d"'), says('string NAME = "c"')), { ...other, ...d(b) }), ['stage.usda', 'NAME = "d"', 'OTHER = "d"'], { expect: spans([2, 3]) }],
	['what is referred to has variables of its own', also(two(W('', 'references = @b.usda@'), W('', `references = ${AT('"${NAME}.usda"')}`), meters, says('string NAME = "d"')), d(b)), ['b.usda', 'NAME = "d"', 'NAME = "c"'], { expect: spans([2, 3]) }],
	['a layer is brought in twice under other variables', also(two(W('def "A" (references = @c.usda@) {}\ndef "B" (references = @d.usda@) {}'), W('', `references = ${AT('"${NAME}.usda"')}`), meters), { ...c(W('', 'references = @b.usda@'), says('string NAME = "e"')), ...d(W('', 'references = @b.usda@'), says('string NAME = "f"')), 'e.usda': usda(b), 'f.usda': usda(W(square('N', 9))) }), ['d.usda', 'NAME = "f"', 'NAME = "e"'], { expect: spans([2, 3], [9, 10]) }],
	['a sublayer says no variables', two(W(square('N', 9), `references = ${AT('"${NAME}.usda"')}`), W(square('M', 2)), `${says('string NAME = "c"')}\nsubLayers = [@d.usda@]`), ['stage.usda', 'NAME = "c"', 'NAME = "b"'], { expect: spans([9, 10]) }],
	['conditions and functions', also(two(W('', `references = [${AT('if(and(eq(${N}, 3), not(${OFF})), "b.usda", "none.usda")')}, ${AT('if(contains(${L}, "y"), at(${L}, -1))')}, ${AT('if(defined(MISSING), "none.usda")')}, ${AT('if(lt(len(${L}), 2), "none.usda", "c.usda")')}]`), b, says('int N = 3\nbool OFF = false\nstring[] L = ["x", "y", "d.usda"]')), { ...other, ...d(W(square('D', 20))) }), ['stage.usda', 'N = 3', 'N = 4'], { expect: spans([2, 3], [9, 10], [20, 21]) }],
	['an expression that cannot be read', two(W(square('N', 9), `references = ${AT('if("b.usda"')}`), b, says('int N = 3')), ['stage.usda', 'if("b.usda"', '"b.usda"'], { expect: spans([9, 10]) }],
	['a picture by a variable', stage(W(bound('M', 0, '/W/L') + look('L', 'color3f inputs:diffuseColor.connect = </W/L/T.outputs:rgb>', `def Shader "T" { uniform token info:id = "UsdUVTexture"\nasset inputs:file = ${AT('"./${NAME}.png"')}\nfloat3 outputs:rgb }`)), says('string NAME = "wood"')), ['stage.usda', 'NAME = "wood"', 'NAME = "iron"'], { expect: ({ materials }) => (JSON.stringify(materials).includes('wood.png') ? null : JSON.stringify(materials)) }],
	['OmniPBR', stage(W(bound('M', 0, '/W/L') + `def Material "L" { token outputs:mdl:surface.connect = </W/L/S.outputs:out>
def Shader "S" { uniform token info:implementationSource = "sourceAsset"\nuniform asset info:mdl:sourceAsset = @OmniPBR.mdl@\nuniform token info:mdl:sourceAsset:subIdentifier = "OmniPBR"
color3f inputs:diffuse_tint = (0.5, 1, 1)\nasset inputs:diffuse_texture = @./wood.png@\nfloat inputs:reflection_roughness_constant = 0.25\nfloat inputs:metallic_constant = 1
bool inputs:enable_opacity = 1\nfloat inputs:opacity_constant = 0.75\nasset inputs:normalmap_texture = @./bumps.png@\ntoken outputs:out } }\n`)), ['stage.usda', '"OmniPBR"', '"OmniGlass"'], { expect: ({ materials }) => {
		const { base, metallic, roughness, maps } = materials?.[0] ?? {};
		const got = JSON.stringify([base, metallic, roughness, maps?.[0]?.file, maps?.[2]?.file]);
		return got === '[[0.5,1,1,0.75],1,0.25,"./wood.png","./bumps.png"]' ? null : got;
	} }],
	['tiles of a picture: the first is drawn', { ...stage(W(bound('M', 0, '/W/L') + look('L', 'color3f inputs:diffuseColor.connect = </W/L/T.outputs:rgb>', 'def Shader "T" { uniform token info:id = "UsdUVTexture"\nasset inputs:file = @./skin.<UDIM>.png@\nfloat3 outputs:rgb }'))) }, ['stage.usda', '<UDIM>', '1002'], { expect: ({ notes }) => (notes.includes('usd.tiles') ? null : notes) }],
];

/* ---- skeletons: row vectors, as in USD */

const mul = (m, n) => m.map((row) => n[0].map((_, k) => row.reduce((sum, x, i) => sum + x * n[i][k], 0)));
const at = (x, y = 0, z = 0) => [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [x, y, z, 1]];
const turn = (degrees, x = 0, y = 0, s = 1) => {
	const [co, si] = [Math.cos, Math.sin].map((f) => f((degrees * Math.PI) / 180) * s);
	return [[co, si, 0, 0], [-si, co, 0, 0], [0, 0, s, 0], [x, y, 0, 1]];
};
/* The inverse of a rotation about z with one scale and a translation. */
const back = ([[co, si], , , [x, y]]) => {
	const q = co * co + si * si;
	return mul(at(-x, -y), [[co / q, -si / q, 0, 0], [si / q, co / q, 0, 0], [0, 0, 1 / Math.sqrt(q), 0], [0, 0, 0, 1]]);
};
const I = at(0), text = (m) => `(${m.map((row) => `(${row.join(', ')})`).join(', ')})`;
const go = (points, m) => points.map((p) => mul([[...p, 1]], m)[0].slice(0, 3));
const box = (...lists) => [Math.min, Math.max].flatMap((f) => [0, 1, 2].map((k) => f(...lists.flat().map((p) => p[k]))));

const POINTS = [[0, 0, 0], [4, 0, 0], [4, 1, 0], [0, 1, 0]];
const FRAMES = [0, 5, 10];
/* Skins each point by its influences [[joint, weight], ...] of `pose`, joints in the skeleton's space; likewise
 * `bind`. */
const skinned = ({ points = POINTS, influences, bind, pose, geom = I, world = I }) => go(go(points, geom).map((p, i) => {
	const to = [0, 0, 0];
	for (const [joint, weight] of influences[i]) go([p], mul(back(bind[joint]), pose[joint]))[0].forEach((x, k) => (to[k] += weight * x));
	return to;
}), world);

const PATHS = ['A', 'A/B'], BIND = [I, at(2)], REST = [I, at(2)];
const ONE = [[[0, 1]], [[1, 1]], [[1, 1]], [[0, 1]]];
const influence = (list, size, how = 'vertex') => `int[] primvars:skel:jointIndices = [${list.flatMap((one) => Array.from({ length: size }, (_, i) => one[i]?.[0] ?? 0))}] (elementSize = ${size}\ninterpolation = "${how}")
float[] primvars:skel:jointWeights = [${list.flatMap((one) => Array.from({ length: size }, (_, i) => one[i]?.[1] ?? 0))}] (elementSize = ${size}\ninterpolation = "${how}")\n`;
const mesh = (inside, points = POINTS, name = 'M') => `def Mesh "${name}" (prepend apiSchemas = ["SkelBindingAPI"]) { int[] faceVertexCounts = [4]
int[] faceVertexIndices = [0, 1, 2, 3]\nuniform token subdivisionScheme = "none"\npoint3f[] points = [${points.map((p) => `(${p})`)}]\n${inside} }\n`;
const bones = ({ paths = PATHS, bind = BIND, rest = REST, more = '' } = {}) => `def Skeleton "S" (prepend apiSchemas = ["SkelBindingAPI"]) { uniform token[] joints = [${paths.map((p) => `"${p}"`)}]
uniform matrix4d[] bindTransforms = [${bind.map(text)}]\n${rest ? `uniform matrix4d[] restTransforms = [${rest.map(text)}]\n` : ''}${more} }\n`;
const quaternion = (degrees) => `(${Math.cos((degrees * Math.PI) / 360)}, 0, 0, ${Math.sin((degrees * Math.PI) / 360)})`;
/* Joints rotate about z: angles(time) for each; their origins are `places`. */
const dance = ({ paths = PATHS, angles = (t) => [3 * t, 6 * t], places = [[0, 0, 0], [2, 0, 0]], scales = places.map(() => 1), more = '' } = {}) => `def SkelAnimation "D" { uniform token[] joints = [${paths.map((p) => `"${p}"`)}]
float3[] translations = [${places.map((p) => `(${p})`)}]\nquatf[] rotations.timeSamples = { ${FRAMES.map((t) => `${t}: [${angles(t).map(quaternion)}]`)} }
half3[] scales = [${scales.map((s) => `(${s}, ${s}, ${s})`)}]\n${more} }\n`;
const S = 'rel skel:skeleton = </W/S>\n', D = 'rel skel:animationSource = </W/D>\n';
const TIME = `${meters}\nstartTimeCode = 0\nendTimeCode = 10`;
const root = (inside, meta = TIME) => stage(`def SkelRoot "W" (prepend apiSchemas = ["SkelBindingAPI"]) { ${inside} }`, meta);
/* Two bones' joints in the skeleton's space, rotated by a and b degrees. */
const pose = (a, b, s = 1) => [turn(a), mul(turn(b, 2, 0, s), turn(a))];
const over = (f) => Object.fromEntries(FRAMES.map((t) => [t, box(...f(t))]));
const usual = (t) => [skinned({ influences: ONE, bind: BIND, pose: pose(3 * t, 6 * t) })];
const whole = (more) => bones({ more: D }) + dance(more);

const GEOM = turn(90, 1, -1), IN = at(0, 0, 5);
const six = ONE.map((one) => [[one[0][0], 0.4], [0, 0.1], [1, 0.1], [0, 0.1], [1, 0.2], [0, 0.1]]);
const half = ONE.map((one) => [one[0]].concat([[1 - one[0][0], 0]]));
const shapes = (inside) => `uniform token[] skel:blendShapes = ["up", "out"]\nrel skel:blendShapeTargets = [</W/M/Up>, </W/M/Out>]
def BlendShape "Up" { uniform vector3f[] offsets = [(0, 4, 0), (0, 8, 0)]\nuniform int[] pointIndices = [2, 3]\n${inside} }
def BlendShape "Out" { uniform vector3f[] offsets = [(0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1)] }\n`;
const weights = 'uniform token[] blendShapes = ["out", "up"]\nfloat[] blendShapeWeights.timeSamples = { 0: [0, 0], 10: [1, 0.5] }\n';
const lifted = (up, out) => POINTS.map(([x, y, z], i) => [x, y + (i === 2 ? 4 : i === 3 ? 8 : 0) * up, z + out]);

const skeletons = [
	['two bones', root(whole() + mesh(S + influence(ONE, 1))), ['stage.usda', 'rel skel:skeleton', 'rel other'], { boxes: over(usual) }],
	['the skeleton is bound above', root(S + whole() + mesh(influence(ONE, 1))), ['stage.usda', 'rel skel:skeleton', 'rel other'], { boxes: over(usual) }],
	['the animation is bound above', root(S + D + bones() + dance() + mesh(influence(ONE, 1))), ['stage.usda', 'rel skel:animationSource', 'rel other'], { boxes: over(usual) }],
	['influences are said above', root(S + influence(ONE, 1).replaceAll('"vertex"', '"constant"').replaceAll(/\[[\d,]+\] \(/g, '[1] (') + whole() + mesh('')), ['stage.usda', 'jointIndices = [1]', 'jointIndices = [0]'], { boxes: over((t) => [skinned({ influences: POINTS.map(() => [[1, 1]]), bind: BIND, pose: pose(3 * t, 6 * t) })]) }],
	['the transform where the mesh was bound', root(whole() + mesh(`${S}matrix4d primvars:skel:geomBindTransform = ${text(GEOM)}\n${influence(ONE, 1)}`)), ['stage.usda', 'skel:geomBindTransform', 'other'], { boxes: over((t) => [skinned({ influences: ONE, bind: BIND, pose: pose(3 * t, 6 * t), geom: GEOM })]) }],
	['two meshes bound at two places', root(whole() + mesh(`${S}matrix4d primvars:skel:geomBindTransform = ${text(GEOM)}\n${influence(ONE, 1)}`) + mesh(`${S}matrix4d primvars:skel:geomBindTransform = ${text(IN)}\n${influence(ONE, 1)}`, POINTS, 'N')), ['stage.usda', text(IN), text(I)], { boxes: over((t) => [GEOM, IN].map((geom) => skinned({ influences: ONE, bind: BIND, pose: pose(3 * t, 6 * t), geom }))) }],
	['the place of a skinned mesh does not count', root(whole() + `def Xform "X" { ${move(9)}${mesh(S + move(0, 7) + influence(ONE, 1))} }`), ['stage.usda', 'rel skel:skeleton', 'rel other'], { boxes: over(usual) }],
	['the place of a skeleton counts', root(bones({ more: D + move(0, 0, 3) }) + dance() + mesh(S + influence(ONE, 1))), ['stage.usda', '(0, 0, 3)', '(0, 0, 4)'], { boxes: over((t) => [skinned({ influences: ONE, bind: BIND, pose: pose(3 * t, 6 * t), world: at(0, 0, 3) })]) }],
	['the bind pose is not the rest pose', root(bones({ bind: [turn(10, 1, 1), turn(-30, 2, 1)], more: D }) + dance() + mesh(S + influence(ONE, 1))), ['stage.usda', text(turn(-30, 2, 1)), text(I)], { boxes: over((t) => [skinned({ influences: ONE, bind: [turn(10, 1, 1), turn(-30, 2, 1)], pose: pose(3 * t, 6 * t) })]) }],
	['the rest pose stands where nothing moves', root(bones({ rest: [turn(20), turn(40, 2)] }) + mesh(S + influence(ONE, 1))), ['stage.usda', text(turn(40, 2)), text(at(2))], { boxes: { 0: box(skinned({ influences: ONE, bind: BIND, pose: pose(20, 40) })) } }],
	['without a rest pose it is that of the binding', root(bones({ rest: null }) + mesh(S + influence(ONE, 1))), ['stage.usda', text(at(2)), text(at(0))], { boxes: { 0: box(POINTS) }, expect: ({ world }) => (JSON.stringify(world).includes('2,0,0]') ? null : JSON.stringify(world)) }],
	['an animation of some joints, in another order', root(bones({ rest: [turn(15), at(2)], more: D }) + dance({ paths: ['A/C', 'A/B'], places: [[9, 9, 9], [2, 0, 0]] }) + mesh(S + influence(ONE, 1))), ['stage.usda', '"A/C","A/B"', '"A/B","A/C"'], { boxes: over((t) => [skinned({ influences: ONE, bind: BIND, pose: pose(15, 6 * t) })]) }],
	['a mesh numbers the joints in its own way', root(whole() + mesh(`${S}uniform token[] skel:joints = ["A/B", "A"]\n${influence(ONE.map(([[j, w]]) => [[1 - j, w]]), 1)}`)), ['stage.usda', 'token[] skel:joints', 'token[] other'], { boxes: over(usual) }],
	['six influences a point', root(whole() + mesh(S + influence(six, 6))), ['stage.usda', '0.4', '0.3'], { boxes: over((t) => [skinned({ influences: six, bind: BIND, pose: pose(3 * t, 6 * t) })]) }],
	['one influence for all', root(whole() + mesh(S + influence([[[1, 1]]], 1, 'constant'))), ['stage.usda', 'jointIndices = [1]', 'jointIndices = [0]'], { boxes: over((t) => [skinned({ influences: POINTS.map(() => [[1, 1]]), bind: BIND, pose: pose(3 * t, 6 * t) })]) }],
	['two influences for all', root(whole() + mesh(S + influence([[[0, 0.25], [1, 0.75]]], 2, 'constant'))), ['stage.usda', '0.25,0.75', '0.75,0.25'], { boxes: over((t) => [skinned({ influences: POINTS.map(() => [[0, 0.25], [1, 0.75]]), bind: BIND, pose: pose(3 * t, 6 * t) })]) }],
	['influences without weight', root(whole() + mesh(S + influence(half, 2))), ['stage.usda', '[1,0,1,0,1,0,1,0]', '[0,1,0,1,0,1,0,1]'], { boxes: over(usual) }],
	['joints grow', root(whole({ scales: [1, 2] }) + mesh(S + influence(ONE, 1))), ['stage.usda', '(2, 2, 2)', '(3, 3, 3)'], { boxes: over((t) => [skinned({ influences: ONE, bind: BIND, pose: pose(3 * t, 6 * t, 2) })]) }],
	['skeletons where Z is up', root(whole() + mesh(S + influence(ONE, 1)), `${TIME}\nupAxis = "Z"`), ['stage.usda', 'upAxis = "Z"', ''], { boxes: over((t) => [usual(t)[0].map(([x, y, z]) => [x, z, -y])]) }],
	['a skeleton comes by a reference with an offset', two('def "W" (references = @b.usda@ (offset = 2\nscale = 0.5)) {}', `def SkelRoot "W" { ${whole() + mesh(S + influence(ONE, 1))} }`, TIME, meters), ['stage.usda', '(offset = 2\nscale = 0.5)', ''], { boxes: Object.fromEntries([[2, 0], [4.5, 5], [7, 10]].map(([when, t]) => [when, box(...usual(t))])) }],
	['instances of what is skinned', two(W(`def "A" (references = @b.usda@\ninstanceable = true) {}\ndef "B" (references = @b.usda@\ninstanceable = true) { ${move(0, 0, 7)} }`), `def SkelRoot "W" { ${whole() + mesh(S + influence(ONE, 1))} }`, TIME), ['stage.usda', '(0, 0, 7)', '(0, 0, 8)'], { boxes: over((t) => [usual(t)[0], go(usual(t)[0], at(0, 0, 7))]) }],
	['shapes of a mesh', root(whole({ angles: () => [0, 0], more: weights }) + mesh(S + influence(ONE, 1) + shapes(''))), ['stage.usda', '[1, 0.5]', '[1, 0.4]'], { boxes: over((t) => [lifted(t / 20, t / 10)]) }],
	['shapes and bones', root(whole({ more: weights }) + mesh(S + influence(ONE, 1) + shapes(''))), ['stage.usda', '[1, 0.5]', '[1, 0.4]'], { boxes: over((t) => [skinned({ points: lifted(t / 20, t / 10), influences: ONE, bind: BIND, pose: pose(3 * t, 6 * t) })]) }],
	['shapes in between', root(whole({ angles: () => [0, 0], more: weights }) + mesh(S + influence(ONE, 1) + shapes('uniform vector3f[] inbetweens:some = [(0, 1, 0), (0, 0, 0)] (weight = 0.25)'))), ['stage.usda', 'weight = 0.25', 'weight = 0.3'], { boxes: over((t) => {
		const w = t / 20, far = Math.max(0, (w - 0.25) / 0.75), near = w < 0.25 ? w / 0.25 : 1 - far;
		return [POINTS.map(([x, y, z], i) => [x, y + (i === 2 ? 4 * far + near : i === 3 ? 8 * far : 0), z + t / 10])];
	}) }],
	['shapes without joints', root(`${bones({ paths: ['A'], bind: [I], rest: [I], more: D })}def SkelAnimation "D" { ${weights} }\n${mesh(S + shapes(''))}`), ['stage.usda', '[1, 0.5]', '[1, 0.4]'], { boxes: over((t) => [lifted(t / 20, t / 10)]) }],
	['bones and faces of several materials', root(whole() + mesh(`${S}${influence(ONE, 1)}def GeomSubset "F" { uniform token elementType = "face"\nuniform token familyName = "materialBind"\nint[] indices = [0]\nrel material:binding = </W/L>\n }\n`) + look('L', diffuse(1, 0, 0))), ['stage.usda', 'diffuseColor = (1, 0, 0)', 'diffuseColor = (0, 1, 0)'], { boxes: over(usual), expect: isRed }],
	['bones of a mesh that is refined', root(whole() + mesh(S + influence(ONE, 1)).replace('subdivisionScheme = "none"', 'subdivisionScheme = "catmullClark"')), ['stage.usda', 'rel skel:skeleton', 'rel other'], { boxes: over(usual) }],
];

/* Repairs line breaks: usda() adds them before every "}", also in variables. */
const mended = (files) => Object.fromEntries(Object.entries(files).map(([path, content]) => [path, content.replaceAll(/(\$\{\w+)\n\}/g, '$1}')]));

export const byHand = [...expressions, ...skeletons].map(([name, files, without, more]) => ({ name, files: mended(files), without, alone: true, drawn: false, flat: false, ...more }));
