/* Models to draw. `from` is below tests/data/models, or below the corpus. clip and time pose an animation. */
const k = (name, file = `glTF-Binary/${name}.glb`) => `gltf/khronos/${name}/${file}`;
const g = (group, number) => `gltf/asset-generator-0.6/${group}/${group}_${number}.gltf`;

export const always = [
	{ name: 'material-balls', from: '../materials/balls.gltf' },
	/* A picture of 30 x 18, repeated: blocks of BC7 that WebGL does not take. */
	{ name: 'sides', from: '../materials/sides.gltf', profiles: ['float32', 'blocks'] },
	{ name: 'colours', from: 'simple/BoxVertexColors.glb' },
	{ name: 'morph-rest', from: 'simple/AnimatedMorphCube.glb' },
	{ name: 'morph-moving', from: 'simple/AnimatedMorphCube.glb', clip: 0, time: 0.7 },
	{ name: 'interpolations', from: 'simple/InterpolationTest.glb', clip: 0, time: 0.6 },
	{ name: 'texture-coordinates', from: 'simple/TextureCoordinateTest.gltf' },
	{ name: 'skin-rest', from: 'simple/SimpleSkin.gltf' },
	{ name: 'skin-moving', from: 'simple/SimpleSkin.gltf', clip: 0, time: 2.3 },
];

export const fromCorpus = [
	{ name: 'duck', from: k('Duck') },
	{ name: 'duck-draco', from: k('Duck', 'glTF-Draco/Duck.gltf') },
	{ name: 'duck-quantized', from: k('Duck', 'glTF-Quantized/Duck.gltf') },
	{ name: 'fox-rest', from: k('Fox') },
	{ name: 'fox-running', from: k('Fox'), clip: 2, time: 0.4, generatedNormals: false },
	{ name: 'figure', from: k('RiggedFigure'), clip: 0, time: 0.5 },
	{ name: 'simple-rig', from: k('RiggedSimple'), clip: 0, time: 1.1 },
	{ name: 'morph-stress', from: k('MorphStressTest'), clip: 0, time: 1.3 },
	{ name: 'morph-primitives', from: k('MorphPrimitivesTest') },
	{ name: 'orientation', from: k('OrientationTest') },
	{ name: 'negative-scale', from: k('NegativeScaleTest') },
	{ name: 'multi-uv', from: k('MultiUVTest') },
	{ name: 'vertex-colour', from: k('VertexColorTest') },
	{ name: 'texture-settings', from: k('TextureSettingsTest') },
	{ name: 'texture-transform', from: k('TextureTransformTest', 'glTF/TextureTransformTest.gltf') },
	{ name: 'texture-encoding', from: k('TextureEncodingTest') },
	{ name: 'linear-interpolation', from: k('TextureLinearInterpolationTest') },
	{ name: 'unlit', from: k('UnlitTest') },
	{ name: 'emissive-strength', from: k('EmissiveStrengthTest') },
	{ name: 'clearcoat', from: k('ClearCoatTest', 'glTF/ClearCoatTest.gltf'), profiles: ['passed', 'float32', 'quantized'],
		/* Mirror-like coats over ribs: the third component of the normals, reconstructed from two of 8 bits, moves
		 * their reflections. */
		limits: { float32: { off: 80, rest: 0.5 }, quantized: { off: 80, rest: 1, rmse: 1.25 } } },
	{ name: 'specular', from: k('SpecularTest') },
	{ name: 'iridescence', from: k('IridescenceSuzanne') },
	{ name: 'two-sided', from: k('TwoSidedPlane', 'glTF/TwoSidedPlane.gltf') },
	{ name: 'normal-map', from: k('NormalTangentTest', 'glTF/NormalTangentTest.gltf'), profiles: ['passed', 'float32', 'quantized'] },
	{ name: 'cube', from: k('Cube', 'glTF/Cube.gltf') },
	{ name: 'transmission', from: k('TransmissionTest', 'glTF/TransmissionTest.gltf') },
	{ name: 'instances', from: k('SimpleInstancing') },
	{ name: 'sparse', from: k('SimpleSparseAccessor', 'glTF/SimpleSparseAccessor.gltf') },
	{ name: 'primitive-modes', from: k('MeshPrimitiveModes', 'glTF/MeshPrimitiveModes.gltf') },
	{ name: 'alpha-mask', from: g('Material_AlphaMask', '01') },
	{ name: 'material-07', from: g('Material', '07'), profiles: ['passed', 'float32', 'quantized'] },
	{ name: 'terrain', from: 'gltf/playcanvas/terrain.glb' },
	{ name: 'house', from: 'gltf/playcanvas/house.glb' },
	{ name: 'robot', from: 'gltf/raylib/robot.glb', clip: 2, time: 0.5 },
	{ name: 'banner', from: 'tree/kaykit-dungeon/gltf/banner_shield_blue.gltf.glb' },
];
