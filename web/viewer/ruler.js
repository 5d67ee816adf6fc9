/* A line between two places that were clicked. */
import * as THREE from 'three';

const COLOR = 0xe07b2c;

/**
 * points: one or two
 * @param {THREE.Vector3[]} points
 */
export function makeRuler(points) {
	const shape = () => new THREE.BufferGeometry().setFromPoints(points);
	const rest = { color: COLOR, depthTest: false, transparent: true, toneMapped: false };
	const out = new THREE.Group();
	out.add(new THREE.Points(shape(), new THREE.PointsMaterial({ ...rest, size: 9, sizeAttenuation: false })));
	if (points.length > 1) out.add(new THREE.Line(shape(), new THREE.LineBasicMaterial(rest)));
	for (const each of out.children) {
		each.renderOrder = 12;
		each.frustumCulled = false;
	}
	return out;
}
