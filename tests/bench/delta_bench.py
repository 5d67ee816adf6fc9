"""One row per kind of change: bytes fetched as a delta, bytes of the whole blob, their ratio in percent."""
import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(sys.argv[1]).resolve()
MESHES = int(sys.argv[2]) if len(sys.argv) > 2 else 100
os.environ["HOB"] = str(BUILD / "hob")
os.environ["HOB_FETCH"] = str(BUILD / "hob_fetch")
sys.path.insert(0, str(HERE.parent / "integration"))
from hobtest import Daemon  # noqa: E402
from test_clients import FETCH, Fetch, scene_text, without  # noqa: E402

if not os.path.exists(FETCH):
    sys.exit(f"there is no {FETCH}: configure with -DHOB_TESTS=ON and build hob_fetch")


def main():
    with tempfile.TemporaryDirectory(prefix="hob-bench-") as folder:
        art = pathlib.Path(folder) / "art"
        art.mkdir()
        base = scene_text(MESHES)
        changes = {"a name": base.replace("o part4\n", "o renamed\n"), "a vertex": scene_text(MESHES, moved=4),
                   "a mesh removed": without(base, 4), "a mesh added": scene_text(MESHES + 1)}
        for settings in ('{}', '{"vertices": "quantized"}', '{"encode": "meshopt"}'):
            (art / "cook.json").write_text(settings)
            with Daemon([art], pathlib.Path(folder) / "cache", wait_ready=False) as daemon:
                daemon.wait_banner()

                def cook(text):
                    (art / "scene.obj").write_text(text)
                    daemon.sync()
                    asset = daemon.get("/api/v1/assets/" + daemon.assets()["art/scene.obj"]["id"]).json()
                    return next(o for o in asset["outputs"] if o["name"] == "meshes")

                first = cook(base)
                print(f"{MESHES} meshes, settings {settings}: {first['size']} bytes")
                for name, text in changes.items():
                    new = cook(text)
                    fetch = Fetch(daemon.port, "art/scene.obj", "meshes", "--delta", first["hash"], new["hash"])
                    fetch.wait("blob", first["hash"])
                    fetched = int(fetch.wait("blob", new["hash"])[4])
                    fetch.end()
                    print(f"  {name:15} {fetched:9} of {new['size']:9} bytes  {100 * fetched / new['size']:6.2f} %")


main()
