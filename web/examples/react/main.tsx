/* A model of a Hob daemon in React-three-fiber that changes when it is saved: ?asset=art/duck.glb,
 * the daemon as ?hob=HOST:PORT. */
import { Suspense, useEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { Canvas, useLoader, useThree } from '@react-three/fiber';
import { Box3, Vector3, type PerspectiveCamera } from 'three';
import { HobLoader } from 'hob-client/three';
import { HobOverlay } from 'hob-client/overlay';

const query = new URLSearchParams(location.search);
const daemon = `http://${query.get('hob') ?? '127.0.0.1:7780'}`;
const asset = query.get('asset') ?? 'models/simple/spot.obj';

const loader = new HobLoader().setPath(`${daemon}/a/`);
loader.overlay = new HobOverlay();

function Model({ name }: { name: string }) {
	const model = useLoader(loader, name);
	const camera = useThree((state) => state.camera as PerspectiveCamera);
	const invalidate = useThree((state) => state.invalidate);
	useEffect(() => {
		const bounds = new Box3().setFromObject(model);
		const centre = bounds.getCenter(new Vector3());
		camera.position.copy(centre)
			.add(new Vector3(0.5, 0.4, 1).multiplyScalar(bounds.getSize(new Vector3()).length()));
		camera.lookAt(centre);
		invalidate();
		document.body.dataset.shown = name;
		return loader.watch(model, () => invalidate());
	}, [model, name, camera, invalidate]);
	return <primitive object={model} />;
}

createRoot(document.getElementById('root')!).render(
	<Canvas frameloop="demand">
		<ambientLight />
		<directionalLight position={[1, 2, 3]} intensity={3} />
		<Suspense fallback={null}>
			<Model name={asset} />
		</Suspense>
	</Canvas>,
);
