/* Balls to show an environment map: a mirror, a rough metal and a matte white one. */
import * as THREE from 'three';
import { text } from './text.js';

/** @type {[string, number, number][]} */
const looks = [['mirror', 1, 0], ['metal', 1, 0.4], ['matte', 0, 1]];

/** Makes a new group; free it with disposeHelper. */
export function makeBalls() {
	const group = new THREE.Group();
	group.name = text.balls;
	looks.forEach(([name, metalness, roughness], i) => {
		const ball = new THREE.Mesh(new THREE.SphereGeometry(1, 64, 32),
			new THREE.MeshStandardMaterial({ metalness, roughness }));
		ball.name = text.ballOf[name];
		ball.position.x = 2.4 * (i - 1);
		group.add(ball);
	});
	return group;
}
