/* Unusual stages for usd_live.mjs, in the form of usd_stages.mjs. `complains`: OpenUSD warns and continues; `alone`:
 * OpenUSD cannot read the stage. */
import { BINDING, BLUE, GREEN, RED, TIMES, UV, W, bind, bound, color, diffuse, look, move, ops, sets, sliding, square, stage, two, usda, variants } from './usd_stages.mjs';

export const also = (files, other) => ({ ...files, ...other });
export const c = (inside, meta) => ({ 'c.usda': usda(inside, meta) });
export const d = (inside, meta) => ({ 'd.usda': usda(inside, meta) });
const chain = (depth, inside, type = 'Scope') => `${Array.from({ length: depth }, (_, i) => `def ${type} "S${i}" {\n`).join('')}${inside}${'}'.repeat(depth)}`;

export const isRed = ({ materials: all }) => (all?.some(({ base }) => base[0] === 1 && base[1] === 0 && base[2] === 0) ? null : 'not red');
/* Mean colour of everything drawn, weighted by area. */
const mean = (wanted) => ({ draws }) => {
	let area = 0;
	const sum = [0, 0, 0];
	for (const { at, color } of draws ?? [])
		for (let i = 0; i < at.length; i += 9) {
			const [u, v] = [3, 6].map((k) => [0, 1, 2].map((c) => at[i + k + c] - at[i + c]));
			const size = Math.hypot(u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]);
			area += size;
			for (let corner = 0; corner < 3; corner++) for (let k = 0; k < 3; k++) sum[k] += (size * color[(i / 3 + corner) * 4 + k]) / 3;
		}
	return wanted.every((value, k) => Math.abs(sum[k] / area - value) < 1e-4) ? null : `mean colour ${sum.map((x) => x / area)}`;
};

/* ---- composition */

const composition = [
	['references in the old form "add"', also(two(W('', 'add references = @c.usda@'), W('', 'references = @d.usda@'), 'subLayers = [@b.usda@]'), { ...c(W(square('M', 0, RED) + square('C', 3))), ...d(W(square('M', 0, GREEN))) }),
		['stage.usda', 'add references', 'prepend references']],
	['a list is reordered', also(two(W('', 'reorder references = [@d.usda@, @c.usda@]'), W('', 'prepend references = [@c.usda@, @d.usda@]'), 'subLayers = [@b.usda@]'), { ...c(W(square('M', 0, RED))), ...d(W(square('M', 0, GREEN))) }),
		['stage.usda', 'reorder references = [@d.usda@, @c.usda@]', '']],
	['reordered items take those behind them along', also(two(W('', 'reorder references = [@e.usda@, @c.usda@]'), W('', 'prepend references = [@c.usda@, @d.usda@, @e.usda@]'), 'subLayers = [@b.usda@]'), { ...c(W(square('M', 0, RED))), ...d(W(square('M', 0, GREEN) + square('N', 3, BLUE))), 'e.usda': usda(W(square('N', 3, GREEN))) }),
		['stage.usda', 'reorder references = [@e.usda@, @c.usda@]', '']],
	['items in front of all that are reordered', also(two(W('', 'reorder references = [@e.usda@, @d.usda@]'), W('', 'prepend references = [@c.usda@, @d.usda@, @e.usda@]'), 'subLayers = [@b.usda@]'), { ...c(W(square('M', 0, RED))), ...d(W(square('M', 0, GREEN) + square('N', 3, BLUE))), 'e.usda': usda(W(square('M', 0, BLUE) + square('N', 3, GREEN))) }),
		['stage.usda', 'reorder references = [@e.usda@, @d.usda@]', 'delete references = [@c.usda@]']],
	['delete, prepend and append in one place', also(two(W('', 'delete references = @d.usda@\nprepend references = @e.usda@\nappend references = @c.usda@'), W('', 'prepend references = [@c.usda@, @d.usda@]'), 'subLayers = [@b.usda@]'), { ...c(W(square('M', 0, RED))), ...d(W(square('D', 9))), 'e.usda': usda(W(square('M', 0, BLUE))) }),
		['stage.usda', 'delete references = @d.usda@\n', '']],
	['the same reference twice counts once', also(two(W('', 'prepend references = [@c.usda@, @d.usda@]'), W('', 'append references = @c.usda@'), 'subLayers = [@b.usda@]'), { ...c(W(square('M', 0, RED))), ...d(W(square('M', 0, GREEN))) }),
		['stage.usda', '[@c.usda@, @d.usda@]', '[@d.usda@]']],
	['an over in front of the definition below it', two('over "W" { over "M" { token visibility = "inherited"\nuniform token orientation = "leftHanded"\n } }', W(square('M', 2)), 'subLayers = [@b.usda@]'),
		['stage.usda', '"leftHanded"', '"rightHanded"']],
	['an over with a reference is defined by it', two('over "W" (references = @b.usda@) {}', W(square('M', 2))), ['stage.usda', '(references = @b.usda@)', '']],
	['a prim is switched on again', two(W('over "M" (active = true) {}', 'references = @b.usda@'), W(square('M').replace('"M"', '"M" (active = false)'))), ['stage.usda', 'active = true', 'active = false']],
	['a variant switches off', two(W(variants('v', { a: 'over "M" (active = false) {}', b: '' }), `${sets('v', 'a')}\nreferences = @b.usda@`), W(square('M') + square('N', 4))), ['stage.usda', 'string v = "a"', 'string v = "b"']],
	['the type of the strongest counts', two('def Xform "W" { def Scope "X" { double3 xformOp:translate = (4, 0, 0)\nuniform token[] xformOpOrder = ["xformOp:translate"]\n } }', W(`def Xform "X" { ${square('M')} }`), 'subLayers = [@b.usda@]'), ['stage.usda', 'def Scope "X"', 'def "X"']],
	['a nested class', stage(W(`class "K" { ${RED} }\n${square('M').replace('"M"', '"M" (inherits = </W/K>)')}`)), ['stage.usda', '(inherits = </W/K>)', '']],
	['a nested class in a reference, overridden from outside', two(W('def "A" (references = @b.usda@) { over "K" { over "M" { color3f[] primvars:displayColor = [(1, 0, 0)]\n } } }'), W(`class "K" { over "M" { ${GREEN} } }\ndef Xform "I" (inherits = </W/K>) { ${square('M')} }`)), ['stage.usda', '(1, 0, 0)', '(0, 1, 0)']],
	['a class two references away', also(two(`class "C" { over "M" { ${RED} } }\n${W('', 'references = @b.usda@')}`, W('', 'references = @c.usda@')), c(`class "C" { over "M" { ${GREEN} } }\n${W(square('M'), 'inherits = </C>')}`)), ['stage.usda', 'class "C"', 'class "D"']],
	['a class chooses a variant', stage(`class "C" (variants = { string v = "b"\n}) {}\n${W(variants('v', { a: square('A'), b: square('B', 5) }), 'inherits = </C>\nprepend variantSets = "v"')}`), ['stage.usda', 'string v = "b"', 'string v = "a"']],
	['specializes below specializes', stage(`class "A" { over "M" { ${RED}uniform token orientation = "leftHanded"\n } }\nclass "B" (specializes = </A>) { over "M" { ${GREEN} } }\n${W(square('M'), 'specializes = </B>')}`), ['stage.usda', '(specializes = </A>)', '']],
	['specializes in a class that is inherited', two(`class "S" { over "M" { ${RED}${move(3)} } }\nclass "K" (specializes = </S>) {}\n${W('', 'inherits = </K>\nreferences = @b.usda@')}`, W(square('M', 0, GREEN))), ['stage.usda', 'class "K" (specializes = </S>)', 'class "K" (inherits = </S>)']],
	['a variant carries a reference of its own', two(W(variants('v', { a: '' }).replace('"a"', '"a" (references = @b.usda@)'), sets('v', 'a')), W(square('M', 2))), ['stage.usda', '"a" (references = @b.usda@)', '"a"']],
	['a variant chooses a variant', stage(W(variants('v', { a: '' }).replace('"a"', '"a" (variants = { string w = "q"\n})') + variants('w', { p: square('P'), q: square('Q', 3) }), 'prepend variantSets = ["v", "w"]\nvariants = { string v = "a"\n}')), ['stage.usda', 'string w = "q"', 'string w = "p"']],
	['a reference into a variant', two(W('def "A" (references = @b.usda@</W/X>) {}'), W(variants('v', { a: `def Xform "X" { ${square('M', 3)} }` }), sets('v', 'a'))), ['b.usda', 'string v = "a"', 'string v = "b"']],
	['of two variant sets the first is the stronger', stage(W(square('M') + variants('v', { a: `over "M" { ${RED} }` }) + variants('w', { b: `over "M" { ${GREEN} }` }), 'prepend variantSets = ["v", "w"]\nvariants = { string v = "a"\nstring w = "b"\n}')), ['stage.usda', '["v", "w"]', '["w", "v"]']],
	['a choice that does not exist', stage(W(square('M') + variants('v', { a: square('A', 4) }), sets('v', 'none'))), ['stage.usda', 'v = "none"', 'v = "a"']],
	['a variant that several layers write', two(W(variants('v', { a: `over "M" { ${RED} }` })), W(variants('v', { a: square('M', 2, GREEN) }), sets('v', 'a')), 'subLayers = [@b.usda@]'), ['stage.usda', '(1, 0, 0)', '(0, 1, 0)']],
	['a payload in a payload', also(two(W('', 'payload = @b.usda@'), W('', 'payload = @c.usda@')), c(W(square('M', 3)))), ['b.usda', 'payload = @c.usda@', '']],
	['a list of payloads', also(two(W('', 'payload = [@b.usda@, @c.usda@]'), W(square('M', 0, RED))), c(W(square('M', 0, GREEN) + square('N', 3)))), ['stage.usda', '[@b.usda@, @c.usda@]', '[@c.usda@, @b.usda@]']],
	['a reference within a stage goes at the speed of the layer that writes it', two(`over "P" { ${square('M', 0, sliding()).replace('def Mesh', 'over "N" {}\ndef Mesh')} }`, `def Xform "P" {}\n${W('', 'references = </P>')}`, `subLayers = [@b.usda@]\ntimeCodesPerSecond = 48\nstartTimeCode = 0\nendTimeCode = 20`), ['stage.usda', 'timeCodesPerSecond = 48', ''], { flat: false, times: [0, 5, 10, 20] }],
	['an arc that would bring in what it hangs on is no arc', stage(`class "K" { def Xform "A" { ${square('M', 2)} } }\ndef Xform "X" (inherits = </K>\nspecializes = </Y/A>) {}\ndef Xform "Y" (inherits = </X>) {}`), ['stage.usda', 'inherits = </K>', ''], { complains: true, flat: false }],
	['what a class brings may lie around what asks for it', stage(`over "W" (append references = </Y>) {}\ndef Xform "Y" { def Xform "A" { ${square('M', 2)} }\ndef Xform "B" { def Xform "A" (specializes = </W/A>) {} } }`), ['stage.usda', 'specializes = </W/A>', ''], { complains: true, flat: false }],
	['a payload has its offset', two(W('', 'payload = @b.usda@ (offset = 2\nscale = 0.5)'), W(square('M', 0, sliding())), TIMES), ['stage.usda', '(offset = 2\nscale = 0.5)', ''], { times: [0, 3, 6, 9] }],
	['offsets inside offsets', also(two('', W('', 'references = @c.usda@ (offset = 1\nscale = 2)'), `${TIMES}\nsubLayers = [@b.usda@ (offset = 2\nscale = 0.5)]`), c(W(square('M', 0, sliding())))), ['b.usda', 'offset = 1\n', ''], { times: [0, 2.5, 6, 9] }],
	['a reference runs backwards', two(W('', 'references = @b.usda@ (offset = 10\nscale = -1)'), W(square('M', 0, sliding())), TIMES), ['stage.usda', 'offset = 10\n', ''], { times: [0, 3, 10] }],
	['a reference has a rate of its own', two(W('', 'references = @b.usda@'), W(square('M', 0, sliding())), `${TIMES}\ntimeCodesPerSecond = 24`, 'defaultPrim = "W"\ntimeCodesPerSecond = 48'), ['b.usda', 'timeCodesPerSecond = 48', 'timeCodesPerSecond = 24'], { times: [0, 2, 5] }],
	['an internal reference to what is below an inherited prim', stage(`class "C" { def Xform "In" { ${square('M', 2)} } }\n${W('def "A" (inherits = </C>) {}\ndef "B" (references = </W/A/In>) { double3 xformOp:translate = (5, 0, 0)\nuniform token[] xformOpOrder = ["xformOp:translate"]\n }')}`), ['stage.usda', 'references = </W/A/In>', ''], { flat: false }],
	['the axis and unit of a sublayer do not count', two('', W(square('M', 1)), 'subLayers = [@b.usda@]', 'upAxis = "Z"\nmetersPerUnit = 5'), ['stage.usda', 'subLayers =', 'upAxis = "Z"\nsubLayers =']],
	['strange paths of files', { 'stage.usda': usda(W('', 'references = [@././x/../in there/b c.usda@, @@@in there/d@e.usda@@@]')), 'in there/b c.usda': usda(W(square('M', 2))), 'in there/d@e.usda': usda(W(square('N', 6))), 'x/y.usda': '' }, ['stage.usda', 'x/../in there', 'x/in there']],
	['a path of a file in Unicode', { 'stage.usda': usda(W('', 'references = @./Größe/車.usda@')), 'Größe/車.usda': usda(W(square('M', 2))) }, ['stage.usda', '車', '军']],
	['what is missing leaves the rest', two(W('def "A" (references = [@none.usda@, @b.usda@]) {}\ndef "B" (references = @b.usda@</None>) {}'), W(square('M', 2))), ['stage.usda', ', @b.usda@]', ']'], { complains: true }],
	['an instance in an instance', also(two(W('def "A" (references = @b.usda@\ninstanceable = true) {}\ndef "B" (references = @b.usda@\ninstanceable = true) { double3 xformOp:translate = (9, 0, 0)\nuniform token[] xformOpOrder = ["xformOp:translate"]\n }'), W(`def "P" (references = @c.usda@\ninstanceable = true) {}\ndef "Q" (references = @c.usda@\ninstanceable = true) { ${move(3)} }`)), c(W(square('M')))), ['b.usda', '(3, 0, 0)', '(4, 0, 0)'], { drawn: false }],
	['the root prims are ordered', { 'stage.usda': `#usda 1.0\nreorder rootPrims = ["B", "A"]\n${W(square('M')).replace('"W"', '"A"').replaceAll('}', '\n}')}${W(square('N', 3)).replace('"W"', '"B"').replaceAll('}', '\n}')}` }, ['stage.usda', '["B", "A"]', '["A", "B"]'], { drawn: false }],
	['a binding is put in front by a stronger layer', two(`def Xform "W" (${BINDING}) { over "M" { prepend rel material:binding = </W/K>\n } }`, W(bound('M', 0, '/W/L') + look('L', diffuse(1, 0, 0)) + look('K', diffuse(0, 1, 0))), 'subLayers = [@b.usda@]'), ['stage.usda', 'prepend rel', 'rel']],
	['a binding is deleted by a stronger layer', two(`def Xform "W" (${BINDING}) { ${bind('/W/K')}over "M" { delete rel material:binding = </W/L>\n } }`, W(bound('M', 0, '/W/L') + look('L', diffuse(1, 0, 0)) + look('K', diffuse(0, 1, 0))), 'subLayers = [@b.usda@]'), ['stage.usda', 'delete rel', 'append rel']],
	['children are ordered by two layers', two(W('reorder nameChildren = ["M", "None"]'), W(`reorder nameChildren = ["M", "N"]\n${square('N', 3)}${square('M', 0, RED)}`), 'subLayers = [@b.usda@]'), ['stage.usda', '"M", "None"', '"N", "M"'], { flat: false, expect: ({ nodes }) => (nodes?.map(([name]) => name).join() === 'W,M,N' ? null : `nodes ${JSON.stringify(nodes)}`) }],
	['what an internal reference brings hides what has its name', stage(`def Xform "W" { ${bound('M', 0, '/X/L')}${look('L', diffuse(1, 0, 0))} }\ndef Xform "X" (references = </W>) {}`), ['stage.usda', '</X/L>', '</W/L>'], { flat: false, complains: true }],
	['a reference in a sublayer with a rate', also(two('', W('', 'references = @c.usda@'), `${TIMES}\ntimeCodesPerSecond = 12\nsubLayers = [@b.usda@]`), c(W(square('M', 0, sliding())), 'defaultPrim = "W"\ntimeCodesPerSecond = 48')), ['c.usda', 'timeCodesPerSecond = 48', 'timeCodesPerSecond = 24'], { times: [0, 1, 2] }],
	['a class whose name is that of the place', two(`def Xform "W" (references = @b.usda@</K>) {}\ndef Xform "K" { ${square('M', 2)} }`, 'def Xform "K" (inherits = </W>) {}'), ['b.usda', 'inherits = </W>', ''], { flat: false }],
	['a definition that is inherited beats a class that is', stage(`class "C" { ${square('M')} }\ndef "D" { ${square('N', 3)} }\nover "W" (inherits = [</C>, </D>]) {}`), ['stage.usda', 'def "D"', 'over "D"'], { flat: false }],
	['a class that is specialized makes a class', stage(`class "C" { ${square('M')} }\ndef Xform "D" { ${square('N', 3)} }\nover "W" (specializes = [</C>, </D>]) {}`), ['stage.usda', '[</C>, </D>]', '[</D>, </C>]'], { flat: false }],
	['a class inside what is inherited stays one', two(`class "C" { class "M" {} }\ndef "W" (inherits = </C>) { over "M" (references = @b.usda@) {} }`, W(square('N', 3))), ['stage.usda', 'class "M"', 'over "M"'], { flat: false }],
	['an instance in a reference is what its own arcs bring', also(two(W('', 'references = @b.usda@'), W(`def "A" (references = @c.usda@\ninstanceable = true) { over "M" { ${RED} }\n${square('N', 5)} }`)), c(W(square('M', 0, GREEN)))), ['b.usda', 'instanceable = true', 'instanceable = false']],
	['a prim without arcs of its own is no instance', two(W('over "A" { over "M" { color3f[] primvars:displayColor = [(1, 0, 0)] } }', 'references = @b.usda@'), W(`def Xform "A" (instanceable = true) { ${square('M', 0, GREEN)} }`)), ['stage.usda', '(1, 0, 0)', '(0, 1, 0)']],
	['deep scopes', stage(W(chain(60, square('M', 2)))), ['stage.usda', '(2, 0, 0)', '(3, 0, 0)']],
	['what a prim references and inherits counts as referenced', two(`def Scope "X" (variants = { string v = "a"\n}) {}\n${W(variants('v', { a: `over "M" { ${RED} }` }) , 'prepend variantSets = "v"\nreferences = </X>\ninherits = </X>')}`, `class "X" { ${square('M', 0, GREEN)} }`, 'subLayers = [@b.usda@]'), ['stage.usda', 'references = </X>\n', '']],
];

/* ---- text */

const text = [
	['remarks, semicolons and quotes', { 'stage.usda': `#usda 1.0
("""A "stage" } of { braces"""
# a remark
defaultPrim = "W"; customLayerData = { string s = 'it"s }'; dictionary d = { int[] a = [1, 2,]; bool b = 1
}
})
def Xform "W" (
  doc = '''text
  )'''
  customData = { asset f = @x.png@; double3 v = (1, 2, 3)
  }
) {
  /* } */ // def
  custom string note = "\\"}"; custom string[] notes = ["a", 'b"', "#"]
  def Mesh "M" { int[] faceVertexCounts = [4,]; int[] faceVertexIndices = [0,1,2,3,]
    uniform token subdivisionScheme = "none" # } {
    point3f[] points = [ (0 , 0,0) , (1e0, 0, 0), (1., 1, -0), (.0, 1, 0) ] ( doc = "]" )
    custom double[] none = []; custom float2[] n2 = [(1,2),]; custom rel empty = []; custom asset[] many = [@a@, @@@b@c@@@]
    float3[] extent = [(inf, -inf, nan), (0, 0, 0)]
    \t}
}
` }, ['stage.usda', '(1e0, 0, 0)', '(2e0, 0, 0)']],
	['line ends of Windows', { 'stage.usda': usda(W(square('M', 2))).replaceAll('\n', '\r\n') }, ['stage.usda', '(2, 0, 0)', '(1, 0, 0)']],
	['properties are spread over several layers and lines', two(W('over "M" {\nint[] faceVertexIndices = [\n0,\n1,\n2,\n3\n]\n }', 'references = @b.usda@'), W(square('M').replace('[0, 1, 2, 3]', '[0, 2, 3, 1]'))), ['stage.usda', '2,\n3\n', '3,\n2\n']],
];

/* ---- time and transforms */

const transforms = [
	['a sample that is None', stage(W(square('M', 1, sliding('{ 0: (1, 0, 0), 4: None, 8: (5, 0, 0), 10: (7, 0, 0) }'))), TIMES), ['stage.usda', '4: None', '4: (2, 0, 0)'], { times: [0, 2, 8, 9, 10] }],
	['an inverted rotation', stage(W(square('M', 1, ops('float xformOp:rotateZ = 30\nfloat3 xformOp:scale = (2, 1, 1)\n', ['xformOp:scale', '!invert!xformOp:rotateZ'])))), ['stage.usda', '!invert!', '']],
	['an inverted transform', stage(W(square('M', 1, ops('matrix4d xformOp:transform:a = ((2, 0.5, 0, 0), (0, 1, 0, 0), (0, 0, 3, 0), (4, 5, 6, 1))\nfloat xformOp:rotateX:b = 20\n', ['xformOp:rotateX:b', '!invert!xformOp:transform:a', '!invert!xformOp:rotateX:b'])))), ['stage.usda', '!invert!xformOp:transform', 'xformOp:transform']],
	['an inverted orientation', stage(W(square('M', 1, ops('quatd xformOp:orient:a = (0.5, 0.1, 0.7, -0.5)\nhalf3 xformOp:scale = (2, 1, 1)\n', ['!invert!xformOp:orient:a', 'xformOp:scale'])))), ['stage.usda', '!invert!', '']],
	['the stack is reset in the middle', stage(W(move(5) + square('M', 0, ops('double3 xformOp:translate = (0, 1, 0)\nfloat3 xformOp:scale = (2, 2, 2)\n', ['xformOp:scale', '!resetXformStack!', 'xformOp:translate'])))), ['stage.usda', '"!resetXformStack!", ', '']],
	['the stack is reset where Z is up', stage(W(move(5) + square('M', 0, ops('double3 xformOp:translate = (0, 1, 3)\n', ['!resetXformStack!', 'xformOp:translate']))), 'upAxis = "Z"'), ['stage.usda', '"!resetXformStack!", ', '']],
	['the stack is reset below what moves', stage(W(sliding() + square('M', 0, ops('double3 xformOp:translate = (0, 1, 3)\n', ['!resetXformStack!', 'xformOp:translate']))), TIMES), ['stage.usda', '"!resetXformStack!", ', ''], { times: [0, 5, 10] }],
	['what moves resets the stack', stage(W(ops('double3 xformOp:translate = (4, 0, 0)\n', ['xformOp:translate']) + square('M', 0, sliding().replace('["', '["!resetXformStack!", "'))), TIMES), ['stage.usda', '"!resetXformStack!", ', ''], { times: [0, 5, 10] }],
	['a scope has no transform', stage(W(`def Scope "S" { ${move(5)}${square('M')} }`)), ['stage.usda', 'def Scope', 'def Xform']],
	['a prim without a type has no transform', stage(W(`def "S" { ${move(5)}${square('M')} }`)), ['stage.usda', 'def "S"', 'def Xform "S"']],
	['a mesh in a mesh', stage(W(square('M', 0, move(3) + square('N', 0, `uniform token orientation = "leftHanded"\n${move(0, 4)}`)))), ['stage.usda', '(0, 4, 0)', '(0, 5, 0)']],
	['a mirror', stage(W(square('M', 1, ops('float3 xformOp:scale = (-1, 1, 1)\n', ['xformOp:scale'])))), ['stage.usda', '(-1, 1, 1)', '(1, 1, 1)']],
	['two mirrors and a left hand', stage(W(ops('float3 xformOp:scale = (1, -2, 1)\n', ['xformOp:scale']) + square('M', 1, `uniform token orientation = "leftHanded"\n${ops('float3 xformOp:scale = (-1, 1, 1)\n', ['xformOp:scale'])}`))), ['stage.usda', '"leftHanded"', '"rightHanded"']],
	['a matrix that moves', stage(W(square('M', 1, ops('matrix4d xformOp:transform.timeSamples = { 0: ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)), 10: ((2, 0, 0, 0), (0, 3, 0, 0), (0, 0, 1, 0), (4, 0, 0, 1)) }\n', ['xformOp:transform']))), TIMES), ['stage.usda', '(4, 0, 0, 1)', '(5, 0, 0, 1)'], { times: [0, 5, 10] }],
	['angles of Euler are linear', stage(W(square('M', 1, ops('float3 xformOp:rotateXYZ.timeSamples = { 0: (0, 0, 0), 10: (90, 180, 40) }\n', ['xformOp:rotateXYZ']))), TIMES), ['stage.usda', '(90, 180, 40)', '(90, -180, 40)'], { times: [0, 3, 5, 8, 10] }],
	['quaternions go the short way', stage(W(square('M', 1, ops('quatf xformOp:orient.timeSamples = { 0: (1, 0, 0, 0), 10: (-0.5, 0.5, 0.5, -0.5) }\n', ['xformOp:orient']))), TIMES), ['stage.usda', '(-0.5, 0.5, 0.5, -0.5)', '(-0.5, -0.5, 0.5, -0.5)'], { times: [0, 2, 5, 10] }],
	['operations move one by one', stage(W(square('M', 1, ops('double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 10: (5, 0, 0) }\nfloat xformOp:rotateZ.timeSamples = { 2: 0, 7: 90 }\nfloat3 xformOp:scale.timeSamples = { 1: (1, 1, 1), 9: (2, 1, 1) }\n', ['xformOp:translate', 'xformOp:rotateZ', 'xformOp:scale']))), TIMES), ['stage.usda', '7: 90', '7: 80'], { times: [0, 1, 2, 4, 7, 9, 10] }],
	['an inverse that moves', stage(W(square('M', 1, ops('double3 xformOp:translate.timeSamples = { 0: (0, 0, 0), 10: (5, 0, 0) }\nfloat xformOp:rotateZ = 40\n', ['xformOp:translate', 'xformOp:rotateZ', '!invert!xformOp:translate']))), TIMES), ['stage.usda', '!invert!', ''], { times: [0, 4, 10] }],
	['samples outside the range', stage(W(square('M', 0, sliding('{ -10: (0, 0, 0), 20: (30, 0, 0) }'))), TIMES), ['stage.usda', '20: (30', '20: (40'], { times: [0, 5, 10] }],
	['samples in disorder', stage(W(square('M', 0, sliding('{ 10: (4, 0, 0), 0: (0, 0, 0), 4: (4, 2, 0), 10: (0, 0, 6) }'))), TIMES), ['stage.usda', '10: (4, 0, 0), ', '8: (4, 0, 0), '], { times: [0, 2, 4, 8, 10] }],
	['a sample alone', stage(W(square('M', 0, sliding('{ 5: (3, 0, 0) }'))), TIMES), ['stage.usda', '5: (3', '5: (4'], { times: [0] }],
];

/* ---- drawing */

const drawing = [
	['a child is not proxy when it says so', stage(W(`def Xform "A" { uniform token purpose = "proxy"\n${square('M', 0, 'uniform token purpose = "default"\n')}${square('P', 9)} }\n${square('N', 3)}`)), ['stage.usda', 'purpose = "default"', 'purpose = "guide"']],
	['what is visible below what is not stays hidden', stage(W(`def Xform "A" { token visibility = "invisible"\n${square('M', 0, 'token visibility = "inherited"\n')} }\n${square('N', 3)}`)), ['stage.usda', '"invisible"', '"inherited"'], { drawn: false, expect: ({ draws }) => (draws?.length === 1 ? null : 'A is drawn') }],
	['colours by face', stage(W(`def Mesh "M" { int[] faceVertexCounts = [3, 3]\nint[] faceVertexIndices = [0, 1, 2, 1, 3, 2]\nuniform token subdivisionScheme = "none"\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (3, 3, 0)]\ncolor3f[] primvars:displayColor = [(0, 1, 0), (1, 0, 0)] (interpolation = "uniform")\nint[] primvars:displayColor:indices = [1, 0]\n }`)), ['stage.usda', '[1, 0]', '[0, 0]'], { drawn: false, expect: mean([1 / 6, 5 / 6, 0]) }],
	['a colour for the only face, an opacity for all', stage(W(square('M', 0, 'color3f[] primvars:displayColor = [(0.5, 0.25, 1)] (interpolation = "uniform")\n') + square('N', 3, 'color3f[] primvars:displayColor = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)] (interpolation = "vertex")\nfloat[] primvars:displayOpacity = [0.5]\n'))), ['stage.usda', '(0.5, 0.25, 1)', '(0.25, 0.25, 1)'], { drawn: false, expect: ({ draws, materials }) => {
		const shown = (draws ?? []).map(({ material, color }) => [0, 3].map((k) => materials[material].base[k] * (color.length ? color[k] : 1)));
		return JSON.stringify(shown) === '[[0.5,1],[1,0.5]]' ? null : JSON.stringify(shown);
	} }],
	['colours by point with indices', stage(W(square('M', 0, 'color3f[] primvars:displayColor = [(0, 1, 0), (1, 0, 0)] (interpolation = "vertex")\nint[] primvars:displayColor:indices = [1, 0, 0, 0]\n'))), ['stage.usda', '[1, 0, 0, 0]', '[0, 0, 0, 0]']],
	['one colour with an index', stage(W(square('M', 0, 'color3f[] primvars:displayColor = [(0, 1, 0), (1, 0, 0)] (interpolation = "constant")\nint[] primvars:displayColor:indices = [1]\n'))), ['stage.usda', 'indices = [1]', 'indices = [0]'], { drawn: false, expect: isRed }],
	['texture coordinates of one value', stage(W(square('M', 0, 'texCoord2f[] primvars:st = [(0.25, 0.75)] (interpolation = "constant")\n'))), ['stage.usda', '(0.25, 0.75)', '(0.5, 0.75)']],
	['texture coordinates of a left hand', stage(W(square('M', 0, `uniform token orientation = "leftHanded"\n${UV} (interpolation = "faceVarying")\n`))), ['stage.usda', '(1, 0.5)', '(1, 1)']],
	['texture coordinates in halves', stage(W(square('M', 0, `${UV.replace('texCoord2f', 'texCoord2h')} (interpolation = "vertex")\n`))), ['stage.usda', '(1, 0.5)', '(1, 1)'], { drawn: false, expect: ({ draws }) => (draws?.[0]?.uv.includes(0.5) ? null : `uv ${draws?.[0]?.uv}`) }],
	['a nearer primvar hides the one above', stage(W(RED + square('M', 0, GREEN))), ['stage.usda', '(0, 1, 0)', '(0, 0, 1)']],
	['a family of subsets for something else', stage(W(`def Mesh "M" (${BINDING}) { int[] faceVertexCounts = [3, 3]\nint[] faceVertexIndices = [0, 1, 2, 1, 3, 2]\nuniform token subdivisionScheme = "none"\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 2, 0)]\n${bind('/W/K')}
def GeomSubset "S" (${BINDING}) { uniform token elementType = "face"\nuniform token familyName = "other"\nint[] indices = [1]\n${bind('/W/L')} } }\n${look('L', diffuse(1, 0, 0))}${look('K', diffuse(0, 1, 0))}`)), ['stage.usda', '"other"', '"materialBind"']],
	['holes and a left hand', stage(W('def Mesh "M" { int[] faceVertexCounts = [3, 3]\nint[] faceVertexIndices = [0, 1, 2, 1, 3, 2]\nint[] holeIndices = [0]\nuniform token orientation = "leftHanded"\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 1, 0)] }\n')), ['stage.usda', '[0]', '[1]']],
	['points that nothing uses', stage(W('def Mesh "M" { int[] faceVertexCounts = [3]\nint[] faceVertexIndices = [5, 1, 3]\nuniform token subdivisionScheme = "none"\npoint3f[] points = [(9, 9, 9), (1, 0, 0), (8, 8, 8), (0, 1, 0), (7, 7, 7), (0, 0, 0)] }')), ['stage.usda', '[5, 1, 3]', '[5, 3, 1]'], { keys: ['area', 'centre', 'facing'] }],
	['a prim without a type hides nothing', stage(W(`def "A" { token visibility = "invisible"\n${square('M')} }\ndef "B" { uniform token purpose = "guide"\n${square('N', 3)} }`)), ['stage.usda', 'def "B"', 'def Xform "B"']],
	['of several colours for all the first counts', stage(W(square('M', 0, 'color3f[] primvars:displayColor = [(1, 0, 0), (0, 1, 0)] (interpolation = "constant")\n'))), ['stage.usda', '(1, 0, 0), (0, 1, 0)', '(0, 1, 0), (1, 0, 0)'], { complains: true }],
	['too few colours are none', stage(W(square('M', 0, 'color3f[] primvars:displayColor = [(1, 0, 0), (0, 1, 0)] (interpolation = "vertex")\n'))), ['stage.usda', '(1, 0, 0), (0, 1, 0)', '(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)'], { drawn: false, expect: ({ draws }) => (draws?.[0].color.length === 0 ? null : 'coloured') }],
	['opacity by point beside one colour', stage(W(square('M', 0, `${RED}float[] primvars:displayOpacity = [0.5, 1, 1, 0.5] (interpolation = "vertex")\n`))), ['stage.usda', '[0.5, 1, 1, 0.5]', '[1, 1, 1, 1]'], { expect: ({ draws, materials: all }) => (draws?.[0].color.some((value, i) => i % 4 === 3 && value === 0.5) && all[draws[0].material].alpha[0] === 2 ? null : 'opaque') }],
];

/* ---- materials */

const nested = `def NodeGraph "G" { color3f outputs:out.connect = </W/L/G/H.outputs:out>
def NodeGraph "H" { color3f inputs:in.connect = </W/L.inputs:tint>\ncolor3f outputs:out.connect = </W/L/G/H.inputs:in> } }\n`;
const looks = look('L', diffuse(1, 0, 0)) + look('K', diffuse(0, 1, 0));
const collection = (inside) => stage(`def Xform "W" (prepend apiSchemas = ["MaterialBindingAPI", "CollectionAPI:red"]) { uniform token collection:red:expansionRule = "expandPrims"\n${inside}\n${looks} }`);

const materials = [
	['node graphs inside one another', stage(W(bound('M', 0, '/W/L') + look('L', 'color3f inputs:diffuseColor.connect = </W/L/G.outputs:out>', nested).replace('{', '{ color3f inputs:tint = (1, 0, 0)\n'))), ['stage.usda', 'inputs:tint = (1, 0, 0)', 'inputs:tint = (0, 0, 1)'], { keys: ['area', 'box'], expect: isRed }],
	['the surface comes through a node graph', stage(W(bound('M', 0, '/W/L') + `def Material "L" { token outputs:surface.connect = </W/L/G.outputs:surface>
def NodeGraph "G" { token outputs:surface.connect = </W/L/G/S.outputs:surface>
def Shader "S" { uniform token info:id = "UsdPreviewSurface"\n${diffuse(1, 0, 0)}\ntoken outputs:surface } } }`)), ['stage.usda', diffuse(1, 0, 0), diffuse(0, 0, 1)], { drawn: false, expect: isRed }],
	['a collection is stronger than the binding beside it', collection(`rel material:binding = </W/K>\nrel collection:red:includes = </W/M>\nrel material:binding:collection:red = [</W.collection:red>, </W/L>]\n${square('M')}${square('N', 3)}`), ['stage.usda', 'rel collection:red:includes', 'rel collection:red:excludes']],
	['what a collection excludes', collection(`rel collection:red:includes = </W>\nrel collection:red:excludes = </W/N>\nrel material:binding:collection:red = [</W.collection:red>, </W/L>]\n${square('M')}${square('N', 3)}`), ['stage.usda', 'rel collection:red:excludes', 'rel other']],
	['a collection above is weaker than a binding below', collection(`rel collection:red:includes = </W/M>\nrel material:binding:collection:red = [</W.collection:red>, </W/L>]\n${bound('M', 0, '/W/K')}`), ['stage.usda', 'rel material:binding = </W/K>', 'rel other = </W/K>']],
	['a collection above that is stronger', collection(`rel collection:red:includes = </W/M>\nrel material:binding:collection:red = [</W.collection:red>, </W/L>] (bindMaterialAs = "strongerThanDescendants")\n${bound('M', 0, '/W/K')}`), ['stage.usda', '"strongerThanDescendants"', '"weakerThanDescendants"']],
	['a binding for previews', stage(W(bound('M', 0, '/W/K').replace('rel material', 'rel material:binding:preview = </W/L>\nrel material') + looks)), ['stage.usda', 'binding:preview', 'binding:full']],
	['the strength of a subset below a stronger binding', stage(W(`def Mesh "M" (${BINDING}) { int[] faceVertexCounts = [3, 3]\nint[] faceVertexIndices = [0, 1, 2, 1, 3, 2]\nuniform token subdivisionScheme = "none"\npoint3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 2, 0)]\nrel material:binding = </W/K> (bindMaterialAs = "strongerThanDescendants")\n
def GeomSubset "S" (${BINDING}) { uniform token elementType = "face"\nuniform token familyName = "materialBind"\nint[] indices = [1]\n${bind('/W/L')} } }\n${looks}`)), ['stage.usda', '"strongerThanDescendants"', '"weakerThanDescendants"'], { drawn: false, expect: ({ draws, materials: all }) => (draws?.every((mesh) => all[mesh.material]?.base[0] === 0) ? null : 'something is red') }],
	['a binding to what is no material', stage(`def Xform "W" (${BINDING}) { ${bind('/W/L')}${bound('M', 0, '/W/X')}def Xform "X" {}\n${looks} }`), ['stage.usda', 'material:binding = </W/X>', 'material:binding = </W/K>']],
	['a value on the output of a graph counts for nothing', stage(W(bound('M', 0, '/W/L') + look('L', 'color3f inputs:diffuseColor.connect = </W/L/G.outputs:out>', 'def NodeGraph "G" { color3f inputs:in = (1, 0, 0)\ncolor3f outputs:out = (0, 1, 0)\n}'))), ['stage.usda', 'outputs:out = (0, 1, 0)', 'outputs:out.connect = </W/L/G.inputs:in>'], { drawn: false, expect: ({ materials }) => (materials?.some(({ base }) => base[0] === 0.18 && base[1] === 0.18) ? null : JSON.stringify(materials)) }],
	['a picture without a file has a fallback in each channel', stage(W(bound('M', 0, '/W/L') + look('L', 'float inputs:roughness.connect = </W/L/T.outputs:g>\nfloat inputs:metallic.connect = </W/L/T.outputs:b>', 'def Shader "T" { uniform token info:id = "UsdUVTexture"\nfloat4 inputs:fallback = (0.1, 0.25, 0.75, 1)\nfloat outputs:g\nfloat outputs:b\n}'))), ['stage.usda', '0.25, 0.75', '0.75, 0.25'], { drawn: false, expect: ({ materials }) => (materials?.some(({ roughness, metallic }) => roughness === 0.25 && metallic === 0.75) ? null : JSON.stringify(materials)) }],
	['an input without a connection keeps its value', stage(W(bound('M', 0, '/W/L') + look('L', `${diffuse(1, 0, 0)}\ncolor3f inputs:diffuseColor.connect = </W/L/None.outputs:rgb>`))), ['stage.usda', diffuse(1, 0, 0), diffuse(0, 1, 0)]],
	['of two collections on a prim the first by name counts', stage(`def Xform "W" (prepend apiSchemas = ["MaterialBindingAPI", "CollectionAPI:z", "CollectionAPI:b10", "CollectionAPI:b9"]) { ${['z', 'b10', 'b9'].map((name, i) => `rel collection:${name}:includes = </W/M>\nrel material:binding:collection:${name} = [</W.collection:${name}>, </W/${'KKL'[i]}>]\n`).join('')}${square('M')}${looks} }`), ['stage.usda', '[</W.collection:b9>, </W/L>]', '[</W.collection:b9>, </W/K>]']],
];

/* ---- features that this build of OpenUSD does not know or draw: derived by hand from the definitions */

export const meters = 'defaultPrim = "W"\nmetersPerUnit = 1';
/* Extents of the meshes in x, smallest first. */
export const spans = (...wanted) => ({ draws }) => {
	const got = (draws ?? []).map(({ at }) => at.filter((_, i) => i % 3 === 0)).map((x) => [Math.min(...x), Math.max(...x)].map((n) => Math.round(n * 1e4) / 1e4));
	return JSON.stringify(got.sort((a, b) => a[0] - b[0])) === JSON.stringify(wanted) ? null : `spans ${JSON.stringify(got)}`;
};
const moved = (map) => `${meters}\nrelocates = {\n${map}\n}`;
const inA = `def Xform "B" { ${square('M', 2)} }\n${square('N', 9)}`;

const byHand = [
	['a prim of a reference is moved', two(W('', 'references = @b.usda@'), W(inA), moved('</W/B>: </W/C>')), ['stage.usda', '</W/B>: </W/C>', '</W/B>: <>'], { expect: spans([2, 3], [9, 10]) }],
	['a prim of a reference is taken away', two(W('', 'references = @b.usda@'), W(inA), moved('</W/B>: <>')), ['stage.usda', '</W/B>: <>', '</W/B>: </W/C>'], { expect: spans([9, 10]) }],
	['what is moved is overridden where it stands now', two(W(`over "C" { ${move(20)} }\nover "B" { ${move(40)} }`, 'references = @b.usda@'), W(inA), moved('</W/B>: </W/C>')), ['stage.usda', '(20, 0, 0)', '(21, 0, 0)'], { expect: spans([9, 10], [22, 23]) }],
	['what is moved goes along with its new parent', two(W(`def Xform "G" { ${move(30)} }`, 'references = @b.usda@'), W(inA), moved('</W/B>: </W/G/C>')), ['stage.usda', '</W/G/C>', '</W/C>'], { expect: spans([9, 10], [32, 33]) }],
	['a reference moves its own prims', also(two(W('', 'references = @b.usda@'), W('', 'references = @c.usda@'), meters, moved('</W/B>: </W/C>')), c(W(inA))), ['b.usda', '</W/B>: </W/C>', '</W/B>: <>'], { expect: spans([2, 3], [9, 10]) }],
	['paths lead to where a prim stands now', two(W('', 'references = @b.usda@'), W(`def Scope "Looks" { ${look('L', diffuse(1, 0, 0)).replaceAll('/W/L/', '/W/Looks/L/')} }\n${bound('M', 0, '/W/Looks/L')}`), moved('</W/Looks>: </W/Mats>')), ['stage.usda', '</W/Looks>: </W/Mats>', '</W/Looks>: <>'], { expect: isRed }],
	['a class reaches what is moved', two(`class "K" { over "M" { ${RED} } }\n${W('', 'references = @b.usda@')}`, `class "K" {}\n${W(`def Xform "B" (inherits = </K>) { ${square('M', 2)} }`)}`, moved('</W/B>: </W/C>')), ['stage.usda', '(1, 0, 0)', '(0, 1, 0)'], { expect: isRed }],
].map(([name, files, without, more]) => [name, files, without, { alone: true, drawn: false, flat: false, ...more }]);

export const odd = [...byHand, ...composition, ...text, ...transforms, ...drawing, ...materials].map(([name, files, without, more]) => ({ name, files, without, ...more }));
