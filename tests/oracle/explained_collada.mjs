/* Differences between three.js and Hob on COLLADA files, file by file, and which side the specification supports. */
export const explainedCollada = [
	{ files: /anims_with_full_rotations_between_keys/, because: 'rotations of 360 degrees between two keys: three.js keys quaternions and ' +
		'stands still, Hob turns by the angle, as <rotate> says' },
	{ files: /BoxAnimated/, because: 'BEZIER curves: three.js plays them as straight lines' },
	{ files: /cube_tristrips/, because: 'three.js reads no <tristrips>' },
	{ files: /cube_emptyTags/, because: 'three.js fails on a file without <asset>' },
	{ files: /earthCylindrical|teapots\.DAE/, because: 'decimal commas: three.js reads what stands before them, and gets NaN' },
	{ files: /library_animation_clips/, because: 'three.js counts no corners of <polygons>' },
	{ files: /teapot_instancenodes/, because: 'three.js gives a node that holds one instance_node its own matrix in place of the ' +
		'product of both' },
	{ files: /assimp\/duck\.dae|kwxport/, because: 'three.js stops at a picture that does not exist' },
	{ files: /stride-0/, because: 'a stride of 0, which the schema forbids: Hob counts the parameters, three.js reads nothing' },
];
