import { Box3, Matrix4, Vector3 } from 'three';

/* Most vertices examined in a posed mesh, or in its instances; of more, every n-th is examined. */
const posedMost = 20000;
const stiffMost = 200000;

const point = new Vector3();
const place = new Matrix4();

/**
 * @param {View.Thing} mesh
 * @param {(vertex: Vector3) => void} visit
 */
function visitMesh(mesh, visit) {
	const { position } = mesh.geometry.attributes;
	const bends = mesh.isSkinnedMesh || (mesh.morphTargetInfluences?.length ?? 0) > 0;
	const step = Math.max(1, Math.ceil(position.count / (bends ? posedMost : stiffMost)));
	for (let i = 0; i < position.count; i += step) {
		if (bends) mesh.getVertexPosition(i, point);
		else point.fromBufferAttribute(position, i);
		visit(point.applyMatrix4(mesh.matrixWorld));
	}
}

/**
 * If the instances have too many vertices in all, the corners of each instance's box are used instead.
 * @param {View.Thing} mesh
 * @param {(vertex: Vector3) => void} visit
 */
function visitInstances(mesh, visit) {
	const { geometry } = mesh;
	const { position } = geometry.attributes;
	const corners = mesh.count * position.count > stiffMost;
	if (corners && !geometry.boundingBox) geometry.computeBoundingBox();
	const { min, max } = geometry.boundingBox ?? new Box3();
	for (let instance = 0; instance < mesh.count; instance++) {
		mesh.getMatrixAt(instance, place);
		place.premultiply(mesh.matrixWorld);
		for (let i = 0; i < (corners ? 8 : position.count); i++) {
			if (corners) point.set(i & 1 ? max.x : min.x, i & 2 ? max.y : min.y, i & 4 ? max.z : min.z);
			else point.fromBufferAttribute(position, i);
			visit(point.applyMatrix4(place));
		}
	}
}

/**
 * Calls visit(vertex) for the drawn vertices of a model: skins posed, morph targets at their weights, all instances, no
 * hidden parts. The next call overwrites the vertex.
 * @param {View.Thing} model
 * @param {(vertex: Vector3) => void} visit
 */
function visitVertices(model, visit) {
	model.updateMatrixWorld(true);
	model.traverseVisible((object) => {
		if (!object.geometry?.attributes?.position) return;
		(object.isInstancedMesh ? visitInstances : visitMesh)(object, visit);
	});
}

/**
 * The box of a model as it is drawn now. three's Box3.setFromObject uses bones that are not updated yet, and morph
 * targets at their maximum.
 * @param {View.Thing} model
 */
export function boxOf(model) {
	const box = new Box3();
	visitVertices(model, (vertex) => box.expandByPoint(vertex));
	return box;
}

/**
 * Where a camera must be that looks along -`direction` (a unit vector, y up) so that what is drawn of `model` is in the
 * middle of its view and fills `share` of it in the tighter of both axes: {from, to}; null where nothing is drawn.
 *
 * A vertex at (x, y, z) of the camera's axes stays inside while |x - cx| and |y - cy| are at most (cz - z) * slope.
 * Each of the four edges is a maximum over all vertices, and two that face each other meet in one place of the camera.
 * @param {View.Thing} model
 * @param {Vector3} direction
 * @param {number} half tangent of half the vertical angle of view
 * @param {number} aspect
 * @param {number} [share]
 */
export function frameOf(model, direction, half, aspect, share = 0.9) {
	const right = new Vector3(0, 1, 0).cross(direction);
	if (right.lengthSq() < 1e-12) right.set(1, 0, 0);
	right.normalize();
	const up = direction.clone().cross(right);
	const tall = half * share;
	const wide = tall * aspect;
	let [rightEdge, leftEdge, upperEdge, lowerEdge, near] = Array(5).fill(-Infinity);
	let far = Infinity;
	visitVertices(model, (vertex) => {
		const z = vertex.dot(direction);
		const x = vertex.dot(right);
		const y = vertex.dot(up);
		near = Math.max(near, z);
		far = Math.min(far, z);
		rightEdge = Math.max(rightEdge, z * wide + x);
		leftEdge = Math.max(leftEdge, z * wide - x);
		upperEdge = Math.max(upperEdge, z * tall + y);
		lowerEdge = Math.max(lowerEdge, z * tall - y);
	});
	if (!(near >= far)) return null;
	const [cx, cy] = [(rightEdge - leftEdge) / 2, (upperEdge - lowerEdge) / 2];
	const cz = Math.max((rightEdge + leftEdge) / (2 * wide), (upperEdge + lowerEdge) / (2 * tall));
	/** @param {number} z */
	const at = (z) => new Vector3().addScaledVector(right, cx).addScaledVector(up, cy).addScaledVector(direction, z);
	return { from: at(cz), to: at((near + far) / 2) };
}
