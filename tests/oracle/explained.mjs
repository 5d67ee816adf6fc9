/* Differences between three.js and Hob, file by file, and which side the glTF 2.0 specification supports. The first
 * match counts. */
export const explained = [
	{
		files: /Animation_Skin_03\.gltf$/,
		because: 'its joints are in no scene ("When a skin is referenced by a node within a scene, the common root MUST belong to ' +
			'the same scene"): three.js leaves such joints at the identity, Hob poses them as their nodes say',
	},
	{
		files: /KHR_animation_pointer/,
		because: 'three.js does not read KHR_animation_pointer and keeps an empty clip; Hob leaves out a clip without a channel, ' +
			'with a note',
	},
	{
		files: /channel_node_no_morphs|anim-path-bad|anim-empty|sampler_output_count_invalid/,
		because: 'no channel is valid ("Nodes that do not contain a mesh with morph targets MUST NOT be targeted with weights"; ' +
			'"Valid path names are ..."): Hob leaves out a clip without channels, with a note, three.js keeps it empty',
	},
	{
		files: /anim-time-neg\.gltf$/,
		because: 'times begin before 0, which is not allowed ("time[0] >= 0.0"): Hob plays from the first key, three.js from 0',
	},
	{
		files: /skin-ibm-nan\.gltf$/,
		because: 'an inverse bind matrix is no number: Hob resets it with a note, three.js draws NaN',
	},
	{
		files: /tinygltf\/regression\/unassigned-skeleton\.gltf$/,
		because: 'an inverse bind matrix of numbers near 1e18 and 1e-38 ("The fourth row of each matrix MUST be set to ' +
			'[0.0, 0.0, 0.0, 1.0]"): core/runtime refuses what would overflow',
	},
	{
		files: /bad\/gltf-validator\/.*\.gltf$/,
		because: 'a fragment made to be invalid, or without a scene or data to show, on which one of the two stops',
	},
	{
		files: /\/bad\//,
		because: 'the file breaks the specification in the place that Hob names, or three.js stops',
	},
];
