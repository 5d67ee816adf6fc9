/* Appended to three's transcoder in one file (web/build/bundle.cmake): Basis Universal to RGBA8, level by level. The
 * transcoder compiles functions from text, which the page's policy forbids; this worker may, but has no network
 * access. */
const RGBA8 = 13; /* cTFRGBA32 */
/** @type {Promise<BasisModule> | undefined} */
let transcoder;

/** @param {ArrayBuffer} wasmBinary */
async function start(wasmBinary) {
	const module = await BASIS({ wasmBinary });
	module.initializeBasis();
	return module;
}

/**
 * @param {BasisModule} given
 * @param {Uint8Array} bytes
 */
function unpack({ KTX2File }, bytes) {
	const file = new KTX2File(bytes);
	try {
		if (!file.isValid() || !file.startTranscoding()) throw new Error('not Basis Universal that three knows');
		return Array.from({ length: file.getLevels() }, (_, level) => {
			const { origWidth: width, origHeight: height } = file.getImageLevelInfo(level, 0, 0);
			const data = new Uint8Array(file.getImageTranscodedSizeInBytes(level, 0, 0, RGBA8));
			if (!file.transcodeImage(data, level, 0, 0, RGBA8, 0, -1, -1)) throw new Error(`level ${level} is damaged`);
			return { data, width, height };
		});
	} finally {
		file.close();
		file.delete();
	}
}

onmessage = async ({ data: { id, wasm, bytes } }) => {
	try {
		transcoder ??= start(wasm);
		const levels = unpack(await transcoder, bytes);
		self.postMessage({ id, levels }, { transfer: levels.map(({ data }) => data.buffer) });
	} catch (error) {
		self.postMessage({ id, error: /** @type {Error} */ (error).message });
	}
};
