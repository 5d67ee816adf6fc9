import { Box3, Vector3 } from 'three';

/* Vertices that are looked at in a mesh that bends; of larger ones every n-th. */
const posedMost = 20000;
const point = new Vector3();

function expandByPose(box, mesh) {
	const { count } = mesh.geometry.attributes.position;
	const step = Math.max(1, Math.ceil(count / posedMost));
	for (let i = 0; i < count; i += step) box.expandByPoint(mesh.getVertexPosition(i, point)
			.applyMatrix4(mesh.matrixWorld));
}

/**
 * The box of a model as it is drawn now: skins in their pose, morph targets at their weights, every instance.
 * three's Box3.setFromObject takes bones that have not been updated yet, and targets at their maximum.
 */
export function boxOf(model) {
	const box = new Box3();
	const own = new Box3();
	model.updateMatrixWorld(true);
	model.traverse((object) => {
		if (!object.geometry?.attributes?.position) return;
		if (object.isSkinnedMesh || object.morphTargetInfluences?.length) return expandByPose(box, object);
		if (object.isInstancedMesh) {
			object.computeBoundingBox();
			own.copy(object.boundingBox);
		} else {
			if (!object.geometry.boundingBox) object.geometry.computeBoundingBox();
			own.copy(object.geometry.boundingBox);
		}
		if (!own.isEmpty()) box.union(own.applyMatrix4(object.matrixWorld));
	});
	return box;
}

/**
 * How far from the centre of `box` a camera must be that looks along -`direction` (a unit vector, y up) so that the box
 * fills `share` of its view in the tighter of both axes.
 * @param {number} half tangent of half the vertical angle of view
 */
export function distanceFor(box, direction, half, aspect, share = 0.9) {
	const right = new Vector3(0, 1, 0).cross(direction);
	if (right.lengthSq() < 1e-12) right.set(1, 0, 0);
	right.normalize();
	const up = direction.clone().cross(right);
	const center = box.getCenter(new Vector3());
	let away = 0;
	for (let corner = 0; corner < 8; corner++) {
		point.set(corner & 1 ? box.max.x : box.min.x, corner & 2 ? box.max.y : box.min.y,
			corner & 4 ? box.max.z : box.min.z).sub(center);
		const across = Math.max(Math.abs(point.dot(up)), Math.abs(point.dot(right)) / aspect);
		away = Math.max(away, across / (half * share) + point.dot(direction));
	}
	return away;
}
