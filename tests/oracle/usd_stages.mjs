/* Stages with one feature each, for usd_live.mjs: files, `without` = [file, text, replacement that removes the
 * feature], `times` in time codes (the first is drawn at rest), `keys`: the compared facts. */

/* OpenUSD requires a line end after a property. */
export const usda = (inside, meta = 'defaultPrim = "W"') => `#usda 1.0\n(\n${meta}\n)\n${inside.replaceAll('}', '\n}')}\n`;
export const square = (name, x = 0, inside = '', size = 1) => `def Mesh "${name}" { int[] faceVertexCounts = [4]
int[] faceVertexIndices = [0, 1, 2, 3]
uniform token subdivisionScheme = "none"
point3f[] points = [(${x}, 0, 0), (${x + size}, 0, 0), (${x + size}, ${size}, 0), (${x}, ${size}, 0)]
${inside} }
`;
export const color = (r, g, b) => `color3f[] primvars:displayColor = [(${r}, ${g}, ${b})]\n`;
export const move = (x, y = 0, z = 0) => `double3 xformOp:translate = (${x}, ${y}, ${z})\nuniform token[] xformOpOrder = ["xformOp:translate"]\n`;
export const W = (inside, meta = '') => `def Xform "W" ${meta ? `(${meta})` : ''} {\n${inside} }\n`;

export const stage = (inside, meta) => ({ 'stage.usda': usda(inside, meta) });
export const two = (inside, other, meta, otherMeta) => ({ 'stage.usda': usda(inside, meta), 'b.usda': usda(other, otherMeta) });
export const RED = color(1, 0, 0), GREEN = color(0, 1, 0), BLUE = color(0, 0, 1);
export const sets = (name, choice) => `prepend variantSets = "${name}"\nvariants = { string ${name} = "${choice}"\n}`;
export const variants = (name, choices) => `variantSet "${name}" = { ${Object.entries(choices).map(([key, body]) => `"${key}" { ${body} }\n`).join('')} }\n`;
export const ops = (text, order) => `${text}uniform token[] xformOpOrder = [${order.map((op) => `"${op}"`).join(', ')}]\n`;
export const look = (name, inputs, more = '') => `def Material "${name}" { token outputs:surface.connect = </W/${name}/S.outputs:surface>
def Shader "S" { uniform token info:id = "UsdPreviewSurface"
${inputs}
token outputs:surface }
${more} }
`;
export const diffuse = (r, g, b) => `color3f inputs:diffuseColor = (${r}, ${g}, ${b})`;
export const bind = (path) => `rel material:binding = <${path}>\n`;
export const BINDING = 'prepend apiSchemas = ["MaterialBindingAPI"]';
export const bound = (name, x, path, how = '') => square(name, x, `rel material:binding = <${path}> ${how}\n`).replace('{', `(${BINDING}) {`);
export const TIMES = 'startTimeCode = 0\nendTimeCode = 10';
const slide = '{ 0: (0, 0, 0), 10: (10, 0, 0) }';
export const sliding = (samples = slide) => `double3 xformOp:translate.timeSamples = ${samples}\nuniform token[] xformOpOrder = ["xformOp:translate"]\n`;
export const UV = 'texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 0.5), (0, 0.5)]';

/* ---- composition */

const composition = [
	['local opinions are stronger than references', two(W(`over "M" { ${RED} }`, 'references = @b.usda@'), W(square('M', 0, GREEN))),
		['stage.usda', '(1, 0, 0)', '(0, 1, 0)']],
	['a layer is stronger than its sublayers', two(W(`over "M" { ${RED} }`), W(square('M', 0, GREEN)), 'subLayers = [@b.usda@]'),
		['stage.usda', 'over "M"', 'over "N"']],
	['the first of two sublayers is the stronger', { ...two('', W(square('M', 0, GREEN)), 'subLayers = [@b.usda@, @c.usda@]'), 'c.usda': usda(W(square('M', 0, RED))) },
		['stage.usda', '@b.usda@, @c.usda@', '@c.usda@, @b.usda@']],
	['a sublayer has its offset and scale', two('', W(square('M', 0, sliding())), `${TIMES}\nsubLayers = [@b.usda@ (offset = 2\nscale = 0.5)]`),
		['stage.usda', '(offset = 2\nscale = 0.5)', ''], { times: [0, 3, 6, 9] }],
	['a sublayer has a rate of its own', two('', W(square('M', 0, sliding())), `${TIMES}\ntimeCodesPerSecond = 24\nsubLayers = [@b.usda@]`, 'timeCodesPerSecond = 48'),
		['b.usda', 'timeCodesPerSecond = 48', 'timeCodesPerSecond = 24'], { times: [0, 2, 5] }],
	['a reference has its offset and scale', two(W('', 'references = @b.usda@ (offset = 2\nscale = 0.5)'), W(square('M', 0, sliding())), TIMES),
		['stage.usda', '(offset = 2\nscale = 0.5)', ''], { times: [0, 3, 6, 9] }],
	['a reference without a path means the default prim', two(W('def "In" (references = @b.usda@) {}'), `${square('Not', 5)}${W(square('M'))}`),
		['b.usda', 'defaultPrim = "W"', 'defaultPrim = "Not"']],
	['a reference with a path means that prim', two(W('def "In" (references = @b.usda@</Other>) {}'), `${W(square('M'))}def Xform "Other" { ${square('N', 5)} }`),
		['stage.usda', '</Other>', '']],
	['a reference to a prim below the root', two(W('def "In" (references = @b.usda@</W/Deep>) {}'), W(`def Xform "Deep" { ${square('M', 3)} }\n${square('Not', 9)}`)),
		['stage.usda', '</W/Deep>', '']],
	['an internal reference', stage(W(`def Xform "A" { ${square('M', 0, RED)} }\ndef "B" (references = </W/A>) { ${move(3)} }`)),
		['stage.usda', 'references = </W/A>', ''], { flat: false }],
	['of two references the first is the stronger', { ...two(W('', 'references = [@b.usda@, @c.usda@]'), W(square('M', 0, RED))), 'c.usda': usda(W(square('M', 0, GREEN) + square('More', 5))) },
		['stage.usda', '@b.usda@, @c.usda@', '@c.usda@, @b.usda@']],
	['references are stronger than payloads', { ...two(W('', 'payload = @b.usda@\nreferences = @c.usda@'), W(square('M', 0, RED))), 'c.usda': usda(W(square('M', 0, GREEN))) },
		['stage.usda', 'payload = @b.usda@\nreferences = @c.usda@', 'references = @b.usda@\npayload = @c.usda@']],
	['a payload is loaded', two(W('', 'payload = @b.usda@'), W(square('M', 0, RED))), ['stage.usda', 'payload = @b.usda@', '']],
	['inherits are stronger than variants', stage(`class "C" { over "M" { ${RED} } }\n${W(square('M') + variants('v', { a: `over "M" { ${GREEN} }` }), `inherits = </C>\n${sets('v', 'a')}`)}`),
		['stage.usda', 'inherits = </C>', '']],
	['variants are stronger than references', two(W(variants('v', { a: `over "M" { ${RED} }` }), `${sets('v', 'a')}\nreferences = @b.usda@`), W(square('M', 0, GREEN))),
		['stage.usda', '= "a"\n', '= "b"\n']],
	['specializes is the weakest', two(`class "C" { ${square('M', 0, RED)}\n${square('N', 4, BLUE)} }\n${W('', 'references = @b.usda@\nspecializes = </C>')}`, W(`over "M" { ${GREEN} }`)),
		['stage.usda', 'specializes = </C>', 'inherits = </C>']],
	['specializes in a reference stays weaker than what is around', two(W(`over "M" { ${RED} }`, 'references = @b.usda@'), `class "C" { ${square('M', 0, GREEN)} }\n${W('', 'specializes = </C>')}`),
		['stage.usda', '(1, 0, 0)', '(0, 1, 0)']],
	['a class of a reference is overridden around it', two(`class "C" { over "M" { ${RED} } }\n${W('', 'references = @b.usda@')}`, `class "C" { over "M" { ${GREEN} } }\n${W(square('M'), 'inherits = </C>')}`),
		['stage.usda', 'class "C"', 'class "D"']],
	['a class inherits a class', stage(`class "A" { over "M" { ${RED} } }\nclass "B" (inherits = </A>) { over "M" { ${move(2)} } }\n${W(square('M'), 'inherits = </B>')}`),
		['stage.usda', '(inherits = </A>)', '']],
	['a variant in a variant', stage(W(variants('v', { a: `def Xform "X" (${sets('w', 'p')}) { ${variants('w', { p: square('P'), q: square('Q', 3) })} }` }), sets('v', 'a'))),
		['stage.usda', '= "p"\n', '= "q"\n']],
	['variant sets of one prim inside one another', stage(W(variants('v', { a: variants('w', { p: square('P'), q: square('Q', 3) }) }).replace('"a"', '"a" (prepend variantSets = "w")'), `prepend variantSets = "v"\nvariants = { string v = "a"\nstring w = "q"\n}`)),
		['stage.usda', 'string w = "q"', 'string w = "p"']],
	['a variant is chosen from around the reference', two(W('', `references = @b.usda@\nvariants = { string v = "b"\n}`), W(variants('v', { a: square('A'), b: square('B', 5) }), sets('v', 'a'))),
		['stage.usda', 'string v = "b"', 'string v = "a"']],
	['a variant brings a reference', two(W(variants('v', { a: 'def "X" (references = @b.usda@) {}' }), sets('v', 'a')), W(square('M', 2, RED))),
		['stage.usda', 'string v = "a"', 'string v = "b"']],
	['only what is defined is there', stage(W(`${square('M')}over "Ghost" { ${square('N', 3)} }\nclass "K" { ${square('O', 6)} }`)), ['stage.usda', 'over "Ghost"', 'def "Ghost"']],
	['an inactive prim is not there', stage(W(square('M') + square('N', 3).replace('"N"', '"N" (active = false)'))), ['stage.usda', 'active = false', 'active = true']],
	['prepend and append in lists', { ...two(W('', 'append references = @c.usda@'), W('', 'prepend references = @d.usda@'), 'subLayers = [@b.usda@]'), 'c.usda': usda(W(square('M', 0, RED) + square('C', 3))), 'd.usda': usda(W(square('M', 0, GREEN) + square('D', 6))) },
		['stage.usda', 'append references', 'prepend references']],
	['delete in lists', { ...two(W('', 'delete references = @c.usda@'), W('', 'references = [@c.usda@, @d.usda@]'), 'subLayers = [@b.usda@]'), 'c.usda': usda(W(square('C', 3))), 'd.usda': usda(W(square('D', 6))) },
		['stage.usda', 'delete references = @c.usda@', '']],
	['an explicit list replaces weaker ones', { ...two(W('', 'references = @c.usda@'), W('', 'prepend references = @d.usda@'), 'subLayers = [@b.usda@]'), 'c.usda': usda(W(square('C', 3))), 'd.usda': usda(W(square('D', 6))) },
		['stage.usda', 'references = @c.usda@', 'prepend references = @c.usda@']],
	['None blocks weaker opinions', two(W('over "M" { color3f[] primvars:displayColor = None\n }', 'references = @b.usda@'), W(square('M', 0, GREEN))),
		['stage.usda', 'color3f[] primvars:displayColor = None', '']],
	['a binding follows its reference', two(W('def "A" (references = @b.usda@) {}'), W(bound('M', 0, '/W/L') + look('L', diffuse(1, 0, 0)))),
		['b.usda', 'rel material:binding', 'rel other']],
	['children come in the order that is asked for', stage(W(`reorder nameChildren = ["B", "A"]\n${square('A')}${square('B', 3)}`)), ['stage.usda', '["B", "A"]', '["A", "B"]'], { drawn: false }],
	['relative paths start at the prim', stage(W(`${bound('M', 0, '../L')}${look('L', diffuse(1, 0, 0))}`)), ['stage.usda', 'rel material:binding', 'rel other']],
	['a reference inside a sublayer is relative to it', { 'stage.usda': usda('', 'subLayers = [@in/b.usda@]'), 'in/b.usda': usda(W('', 'references = @./c.usda@')), 'in/c.usda': usda(W(square('M', 0, RED))), 'c.usda': usda(W(square('M', 7))) },
		['in/b.usda', '@./c.usda@', '@../c.usda@']],
	['an instance shares what it refers to', two(W(`def "A" (references = @b.usda@\ninstanceable = true) {}\ndef "B" (references = @b.usda@\ninstanceable = true) { ${move(4)} }`), W(square('M', 0, RED))),
		['stage.usda', 'double3 xformOp:translate = (4', 'double3 xformOp:translate = (5'], { drawn: false }],
	['what is written below an instance does not count', two(W(`def "A" (references = @b.usda@\ninstanceable = true) { over "M" { ${GREEN} } }`), W(square('M', 0, RED))),
		['stage.usda', 'instanceable = true', 'instanceable = false'], { drawn: false }],
];

/* ---- time */

const time = [
	['samples are linear between one another', stage(W(square('M') + `over "M" { ${sliding('{ 0: (0, 0, 0), 4: (4, 2, 0), 10: (0, 0, 6) }')} }`).replace('}\nover "M" {', ''), TIMES),
		['stage.usda', '4: (4, 2, 0)', '4: (4, 3, 0)'], { times: [0, 1, 4, 7, 10] }],
	['time codes have a rate', stage(W(square('M', 0, sliding())), `${TIMES}\ntimeCodesPerSecond = 5`), ['stage.usda', 'timeCodesPerSecond = 5', ''], { times: [0, 5, 10] }],
	['frames per second stand in for the rate', stage(W(square('M', 0, sliding())), `${TIMES}\nframesPerSecond = 30`), ['stage.usda', 'framesPerSecond = 30', ''], { drawn: false, expect: ({ samples }) => samples && null }],
	['samples are stronger than the default beside them', stage(W(square('M', 0, `double3 xformOp:translate = (5, 5, 5)\n${sliding('{ 0: (1, 0, 0), 10: (2, 0, 0) }')}`)), TIMES),
		['stage.usda', 'double3 xformOp:translate.timeSamples', 'double3 xformOp:other.timeSamples'], { times: [0, 10] }],
	['a stronger default hides weaker samples', two(W('over "M" { double3 xformOp:translate = (5, 0, 0)\n }', 'references = @b.usda@'), W(square('M', 0, sliding())), TIMES),
		['stage.usda', 'double3 xformOp:translate', 'double3 xformOp:other'], { times: [0, 10] }],
	['turns around an axis', stage(W(square('M', 1, ops('float xformOp:rotateZ.timeSamples = { 0: 0, 10: 350 }\n', ['xformOp:rotateZ']))), TIMES),
		['stage.usda', '10: 350', '10: -10'], { times: [0, 2, 5, 8] }],
	['parents and children move', stage(W(ops('float xformOp:rotateY.timeSamples = { 0: 0, 10: 90 }\n', ['xformOp:rotateY']) + square('M', 2, sliding())), TIMES),
		['stage.usda', 'rotateY', 'rotateX'], { times: [0, 5, 10] }],
	['an instance moves', two(W(`def "A" (references = @b.usda@) { ${sliding()} }`), W(square('M', 0, RED)), TIMES), ['stage.usda', '10: (10, 0, 0)', '10: (9, 0, 0)'], { times: [0, 10] }],
];

/* ---- value clips */

const clipped = (inside) => square('M', 0, 'double3 xformOp:translate\nuniform token[] xformOpOrder = ["xformOp:translate"]\n').replace('"M"', `"M" (clips = { dictionary default = { ${inside}
string primPath = "/C"
}
})`);
const clip = (samples) => `#usda 1.0\ndef "C" { double3 xformOp:translate.timeSamples = { ${samples} }\n}\n`;
const list = 'asset[] assetPaths = [@./c.usda@, @./d.usda@]\nasset manifestAssetPath = @./c.usda@\n';
const FILES = { 'c.usda': clip('0: (0, 0, 0), 10: (5, 0, 0)'), 'd.usda': clip('0: (0, 1, 0), 4: (0, 3, 0), 10: (0, 9, 0)') };

const valueClips = [
	['a value clip moves a prim', { ...stage(W(clipped(`${list}double2[] active = [(0, 0)]\ndouble2[] times = [(0, 0), (10, 10)]`)), TIMES), ...FILES },
		['c.usda', '(5, 0, 0)', '(6, 0, 0)'], { times: [0, 3, 10], flat: false }],
	['a value clip has a time of its own', { ...stage(W(clipped(`${list}double2[] active = [(0, 0)]\ndouble2[] times = [(0, 2), (5, 8), (10, 2)]`)), TIMES), ...FILES },
		['stage.usda', '(5, 8)', '(5, 9)'], { times: [0, 2, 5, 8, 10], flat: false }],
	['value clips follow one another', { ...stage(W(clipped(`${list}double2[] active = [(0, 0), (6, 1)]\ndouble2[] times = [(0, 0), (6, 6), (10, 10)]`)), TIMES), ...FILES },
		['stage.usda', '(6, 1)', '(5, 1)'], { times: [0, 3, 5.5, 6, 7, 10], flat: false }],
	['value clips are weaker than what is beside them', { ...stage(W(clipped(`${list}double2[] active = [(0, 0)]\ndouble2[] times = [(0, 0), (10, 10)]`).replace('translate\n', 'translate = (3, 3, 3)\n')), TIMES), ...FILES },
		['stage.usda', 'translate = (3, 3, 3)', 'translate'], { times: [0, 10], flat: false }],
	['value clips are stronger than references', { ...two(W(clipped(`${list}double2[] active = [(0, 0)]\ndouble2[] times = [(0, 0), (10, 10)]`).replace('"M" (', '"M" (references = @b.usda@</W/M>\n').replace('double3 xformOp:translate\n', '')), W(square('M', 0, move(7))), TIMES), ...FILES },
		['stage.usda', 'clips =', 'customData ='], { times: [0, 10], flat: false }],
];

/* ---- transforms, units */

const transforms = [
	['operations apply from the last to the first', stage(W(square('M', 1, ops('double3 xformOp:translate = (1, 2, 3)\nfloat xformOp:rotateZ = 30\nfloat3 xformOp:scale = (2, 1, 1)\n', ['xformOp:translate', 'xformOp:rotateZ', 'xformOp:scale'])))),
		['stage.usda', '"xformOp:rotateZ", "xformOp:scale"', '"xformOp:scale", "xformOp:rotateZ"']],
	...['XYZ', 'XZY', 'YXZ', 'YZX', 'ZXY', 'ZYX'].map((order, i, all) => [`rotate${order}`, stage(W(square('M', 1, ops(`float3 xformOp:rotate${order} = (30, 40, 50)\n`, [`xformOp:rotate${order}`])))),
		['stage.usda', `rotate${order}`, `rotate${all[(i + 1) % 6]}`]]),
	['orient', stage(W(square('M', 1, ops('quatf xformOp:orient = (0.5, 0.1, 0.7, -0.5)\n', ['xformOp:orient'])))), ['stage.usda', '(0.5, 0.1, 0.7, -0.5)', '(-0.5, 0.5, 0.1, 0.7)']],
	['transform', stage(W(square('M', 1, ops('matrix4d xformOp:transform = ((2, 0.5, 0, 0), (0, 1, 0, 0), (0, 0, 3, 0), (4, 5, 6, 1))\n', ['xformOp:transform'])))), ['stage.usda', '(2, 0.5, 0, 0), (0, 1, 0, 0)', '(2, 0, 0, 0), (0.5, 1, 0, 0)']],
	['a pivot and its inverse', stage(W(square('M', 1, ops('float3 xformOp:translate:pivot = (1, 1, 0)\nfloat xformOp:rotateZ = 90\n', ['xformOp:translate:pivot', 'xformOp:rotateZ', '!invert!xformOp:translate:pivot'])))), ['stage.usda', '!invert!', '']],
	['!resetXformStack!', stage(W(move(5) + square('M', 0, ops('double3 xformOp:translate = (0, 1, 0)\n', ['!resetXformStack!', 'xformOp:translate'])))), ['stage.usda', '"!resetXformStack!", ', '']],
	['an operation that is not listed does not count', stage(W(square('M', 0, ops('double3 xformOp:translate = (1, 2, 3)\nfloat3 xformOp:scale = (2, 2, 2)\n', ['xformOp:scale'])))), ['stage.usda', '["xformOp:scale"]', '["xformOp:scale", "xformOp:translate"]']],
	['Z is up', stage(W(square('M', 1)), 'upAxis = "Z"'), ['stage.usda', 'upAxis = "Z"', '']],
	['metres per unit', stage(W(square('M', 1)), 'metersPerUnit = 0.5'), ['stage.usda', '0.5', '0.25']],
	['metres per unit of a referenced layer do not count', two(W('', 'references = @b.usda@'), W(square('M', 1)), 'metersPerUnit = 1', 'defaultPrim = "W"\nmetersPerUnit = 0.01'), ['stage.usda', 'metersPerUnit = 1', 'metersPerUnit = 2']],
];

/* ---- drawing */

const drawing = [
	['invisible hides what is below', stage(W(`def Xform "A" { token visibility = "invisible"\n${square('M')} }\n${square('N', 3)}`)), ['stage.usda', '"invisible"', '"inherited"'], { drawn: false, expect: ({ draws }) => (draws?.length === 1 ? null : 'A is drawn') }],
	['guides and proxies are not drawn', stage(W(square('M', 0, 'uniform token purpose = "guide"\n') + square('P', 3, 'uniform token purpose = "proxy"\n') + square('N', 6))), ['stage.usda', '"guide"', '"default"']],
	['purpose goes down to children', stage(W(`def Xform "A" { uniform token purpose = "proxy"\n${square('M')} }\n${square('N', 3)}`)), ['stage.usda', '"proxy"', '"default"']],
	['left-handed faces are turned', stage(W(square('M', 0, 'uniform token orientation = "leftHanded"\n'))), ['stage.usda', '"leftHanded"', '"rightHanded"']],
	['faces of five and of three corners', stage(W('def Mesh "M" { int[] faceVertexCounts = [5, 3]\nint[] faceVertexIndices = [0, 1, 2, 3, 4, 1, 5, 2]\nuniform token subdivisionScheme = "none"\npoint3f[] points = [(0, 0, 0), (2, 0, 0), (2, 1, 0), (1, 2, 0), (0, 1, 0), (3, 0, 1)] }\n')), ['stage.usda', '(1, 2, 0)', '(1, 3, 0)']],
	['holes are left out', stage(W('def Mesh "M" { int[] faceVertexCounts = [3, 3]\nint[] faceVertexIndices = [0, 1, 2, 1, 3, 2]\nint[] holeIndices = [1]\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)] }\n')), ['stage.usda', 'int[] holeIndices', 'int[] other']],
	['a cube has a size', stage(W(`def Cube "C" { double size = 3\n${RED} }`)), ['stage.usda', 'size = 3', 'size = 2'], { keys: ['area', 'centre', 'box', 'color'] }],
	...[
		['Sphere', 'double radius = 2\n', 'radius = 2', 'radius = 1', [2, 2, 2]],
		['Cylinder', 'double height = 3\ndouble radius = 0.5\nuniform token axis = "X"\n', 'axis = "X"', 'axis = "Z"', [1.5, 0.5, 0.5]],
		['Cone', 'double height = 3\ndouble radius = 0.5\nuniform token axis = "Y"\n', 'axis = "Y"', 'axis = "Z"', [0.5, 1.5, 0.5]],
		['Capsule', 'double height = 3\ndouble radius = 0.5\nuniform token axis = "X"\n', 'height = 3', 'height = 2', [2, 0.5, 0.5]],
	].map(([type, inside, from, to, half]) => [`a ${type.toLowerCase()} has its measures`, stage(W(`def ${type} "C" { ${inside} }`), 'metersPerUnit = 1'), ['stage.usda', from, to], { drawn: false, expect: reaches(half) }]),
];

/* ---- features that this build of OpenUSD does not draw: derived by hand from the schemas' definitions */

const instancer = (inside) => stage(W(`def PointInstancer "I" { point3f[] positions = [(0, 0, 0), (5, 0, 0), (9, 0, 0)]
int[] protoIndices = [0, 1, 0]
rel prototypes = [</W/I/P>, </W/I/Q>]
${inside}${square('P')}${square('Q', 0, '', 2)} }`), 'metersPerUnit = 1');
const corners = (draws) => (draws ?? []).map(({ at }) => [Math.min(...at.filter((_, i) => i % 3 === 0)), Math.max(...at.filter((_, i) => i % 3 === 0))]);
const spans = (wanted) => ({ draws }) => (JSON.stringify(corners(draws).map((one) => one.map((x) => Math.round(x * 1e4) / 1e4)).sort((a, b) => a[0] - b[0])) === JSON.stringify(wanted) ? null : `spans ${JSON.stringify(corners(draws))}`);
const near = (a, b) => Math.abs(a - b) < 1e-4 * Math.max(1, Math.abs(b));

const byHand = [
	['an instancer places its prototypes', instancer(''), ['stage.usda', '[0, 1, 0]', '[0, 0, 0]'], { expect: spans([[0, 1], [5, 7], [9, 10]]) }],
	['instances turn and are scaled', instancer('quath[] orientations = [(1, 0, 0, 0), (0, 0, 0, 1), (1, 0, 0, 0)]\nfloat3[] scales = [(1, 1, 1), (2, 1, 1), (3, 1, 1)]\n'), ['stage.usda', '(2, 1, 1)', '(1, 1, 1)'], { expect: spans([[0, 1], [1, 5], [9, 12]]) }],
	['instances are hidden by their ids', instancer('int64[] ids = [7, 8, 9]\nint64[] invisibleIds = [8]\n'), ['stage.usda', 'invisibleIds = [8]', 'invisibleIds = [9]'], { expect: spans([[0, 1], [9, 10]]) }],
	['instances are switched off by their ids', { 'stage.usda': instancer('')['stage.usda'].replace('def PointInstancer "I"', 'def PointInstancer "I" (inactiveIds = [1])') }, ['stage.usda', 'inactiveIds = [1]', 'inactiveIds = [0]'], { expect: spans([[0, 1], [9, 10]]) }],
	['a camera has its field of view', stage(W(`${square('M')}def Camera "C" { float focalLength = 50\nfloat horizontalAperture = 36\nfloat verticalAperture = 24 }`)), ['stage.usda', 'focalLength = 50', 'focalLength = 35'],
		{ expect: ({ cameras }) => (near(cameras?.[0]?.[1], 2 * Math.atan(24 / 100)) && near(cameras[0][2], 1.5) ? null : `camera ${cameras}`) }],
	['a distant light has its exposure', stage(W(`${square('M')}def DistantLight "L" { float inputs:intensity = 3\nfloat inputs:exposure = 2 }`)), ['stage.usda', 'exposure = 2', 'exposure = 1'],
		{ expect: ({ lights }) => (near(lights?.[0]?.[1], 12) ? null : `light ${lights}`) }],
	['linear curves are lines', stage(W('def BasisCurves "C" { uniform token type = "linear"\nint[] curveVertexCounts = [3, 2]\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (3, 0, 0), (4, 0, 0)] }'), 'metersPerUnit = 1'), ['stage.usda', '[3, 2]', '[2, 3]'],
		{ expect: ({ draws }) => (draws?.[0]?.topology === 1 && JSON.stringify(draws[0].at) === '[0,0,0,1,0,0,1,0,0,1,1,0,3,0,0,4,0,0]' ? null : `curve ${JSON.stringify(draws)}`) }],
	['points are points', stage(W('def Points "P" { point3f[] points = [(0, 0, 0), (1, 2, 3)] }'), 'metersPerUnit = 1'), ['stage.usda', '(1, 2, 3)', '(1, 2, 4)'],
		{ expect: ({ draws }) => (JSON.stringify(draws?.[0]?.at) === '[0,0,0,1,2,3]' ? null : `points ${JSON.stringify(draws)}`) }],
	['a texture reads the primvar that is named', stage(W(bound('M', 0, '/W/L').replace('rel material', 'texCoord2f[] primvars:other = [(0, 0), (4, 0), (4, 4), (0, 4)] (interpolation = "vertex")\nrel material') + look('L', 'color3f inputs:diffuseColor.connect = </W/L/T.outputs:rgb>', `def Shader "T" { uniform token info:id = "UsdUVTexture"\nasset inputs:file = @a.png@\nfloat2 inputs:st.connect = </W/L/R.outputs:result>\nfloat3 outputs:rgb }
def Shader "R" { uniform token info:id = "UsdPrimvarReader_float2"\nstring inputs:varname = "other"\nfloat2 outputs:result }`))), ['stage.usda', 'varname = "other"', 'varname = "none"'],
		{ expect: ({ draws }) => (Math.max(...(draws?.[0]?.uv ?? [])) === 4 ? null : `uv ${draws?.[0]?.uv}`) }],
].map(([name, files, without, more]) => [name, files, without, { drawn: false, ...more }]);

/* ---- primvars */

const primvars = [
	['a colour for all', stage(W(square('M', 0, RED))), ['stage.usda', '(1, 0, 0)]', '(0, 0, 1)]']],
	['a colour comes down from above', stage(W(RED + square('M'))), ['stage.usda', '(1, 0, 0)]', '(0, 1, 0)]'], { keys: ['area', 'box'], expect: ({ materials }) => (materials?.[0]?.base[0] === 1 && materials[0].base[1] === 0 ? null : 'not red') }],
	['colours by point', stage(W(square('M', 0, 'color3f[] primvars:displayColor = [(1, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 1)] (interpolation = "vertex")\n'))), ['stage.usda', '(0, 0, 1)', '(0, 1, 0)']],
	['texture coordinates by point', stage(W(square('M', 0, `${UV} (interpolation = "vertex")\n`))), ['stage.usda', '(1, 0.5)', '(1, 1)']],
	['texture coordinates by corner', stage(W(square('M', 0, `${UV} (interpolation = "faceVarying")\n`))), ['stage.usda', '(1, 0.5)', '(1, 1)']],
	['texture coordinates with indices', stage(W(square('M', 0, 'texCoord2f[] primvars:st = [(0, 0), (1, 0.25)] (interpolation = "faceVarying")\nint[] primvars:st:indices = [0, 1, 1, 0]\n'))), ['stage.usda', '[0, 1, 1, 0]', '[1, 0, 0, 0]']],
	['varying is by point', stage(W(square('M', 0, 'color3f[] primvars:displayColor = [(1, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 1)] (interpolation = "varying")\n'))), ['stage.usda', '(0, 0, 1)', '(0, 1, 0)'], { drawn: false }],
];

/* ---- materials */

const materials = [
	['a material comes down from above', stage(`def Xform "W" (${BINDING}) { ${bind('/W/L')}${square('M')}${look('L', diffuse(1, 0, 0))} }`), ['stage.usda', 'rel material:binding', 'rel other']],
	['the nearest binding wins', stage(`def Xform "W" (${BINDING}) { ${bind('/W/L')}${bound('M', 0, '/W/K')}${look('L', diffuse(1, 0, 0))}${look('K', diffuse(0, 1, 0))} }`), ['stage.usda', '</W/K>', '</W/L>']],
	['unless the one above is stronger', stage(`def Xform "W" (${BINDING}) { rel material:binding = </W/L> (bindMaterialAs = "strongerThanDescendants")\n${bound('M', 0, '/W/K')}${look('L', diffuse(1, 0, 0))}${look('K', diffuse(0, 1, 0))} }`), ['stage.usda', '"strongerThanDescendants"', '"weakerThanDescendants"']],
	['a collection binds', stage(`def Xform "W" (prepend apiSchemas = ["MaterialBindingAPI", "CollectionAPI:red"]) { uniform token collection:red:expansionRule = "expandPrims"
rel collection:red:includes = </W/M>
rel material:binding:collection:red = [</W.collection:red>, </W/L>]
${square('M')}${square('N', 3)}${look('L', diffuse(1, 0, 0))} }`), ['stage.usda', 'rel collection:red:includes', 'rel collection:red:excludes']],
	['an input is connected through the material', stage(W(bound('M', 0, '/W/L') + look('L', 'color3f inputs:diffuseColor.connect = </W/L.inputs:tint>').replace('{', `{ color3f inputs:tint = (1, 0, 0)\n`))), ['stage.usda', 'inputs:tint = (1, 0, 0)', 'inputs:tint = (0, 0, 1)'], { keys: ['area', 'box'], expect: red }],
	['an input is connected through a node graph', stage(W(bound('M', 0, '/W/L') + look('L', 'color3f inputs:diffuseColor.connect = </W/L/G.outputs:out>', 'def NodeGraph "G" { color3f inputs:in = (1, 0, 0)\ncolor3f outputs:out.connect = </W/L/G.inputs:in> }\n'))), ['stage.usda', 'inputs:in = (1, 0, 0)', 'inputs:in = (0, 0, 1)'], { keys: ['area', 'box'], expect: red }],
	['a material in a reference is overridden', two(W('over "L" { over "S" { color3f inputs:diffuseColor = (1, 0, 0)\n } }', 'references = @b.usda@'), W(bound('M', 0, '/W/L') + look('L', diffuse(0, 1, 0)))), ['stage.usda', '(1, 0, 0)', '(0, 0, 1)']],
	['a subset of faces has its own material', stage(W(`def Mesh "M" { int[] faceVertexCounts = [3, 3]\nint[] faceVertexIndices = [0, 1, 2, 1, 3, 2]\nuniform token subdivisionScheme = "none"\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 2, 0)]
uniform token subsetFamily:materialBind:familyType = "nonOverlapping"
def GeomSubset "S" (${BINDING}) { uniform token elementType = "face"\nuniform token familyName = "materialBind"\nint[] indices = [1]\n${bind('/W/L')} } }\n${look('L', diffuse(1, 0, 0))}`)), ['stage.usda', 'int[] indices = [1]', 'int[] indices = [0]'],
	{ drawn: false, expect: ({ draws, materials: all }) => (draws?.length === 2 && draws.some((d) => all[d.material]?.base[1] === 0 && Math.abs(Math.max(...d.at) - 0.02) < 1e-8) ? null : 'the second face is not red') }],
];

function red({ materials: all }) {
	return all?.some(({ base }) => base[0] === 1 && base[1] === 0 && base[2] === 0) ? null : 'not red';
}

/* Distances of the surface from the middle: OpenUSD's own shapes have ten sides and reach less far. */
function reaches(half) {
	return ({ bounds }) => (bounds?.every((value, k) => Math.abs(value - (k < 3 ? -half[k] : half[k - 3])) < 1e-5) ? null : `reaches ${bounds}`);
}

export const stages = [...composition, ...time, ...valueClips, ...transforms, ...drawing, ...byHand, ...primvars, ...materials].map(([name, files, without, more]) => ({ name, files, without, ...more }));
