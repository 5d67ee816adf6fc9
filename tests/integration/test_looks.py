"""Thumbnails, and the source files of an asset: shown to users beside the cooked data."""
import os
import pathlib
import shutil
import subprocess
import unittest

from hobtest import DEADLINE, HOB, MODELS, Daemon, Scenario, main, png_pixels, until

THUMBNAIL = pathlib.Path(HOB).parent / "hob-thumbnail"
SIMPLE = MODELS / "simple"


@unittest.skipUnless(THUMBNAIL.exists(), f"{THUMBNAIL} was not built: OpenGL ES or EGL is missing")
class Thumbnails(Scenario):
    def ask(self, daemon, name, size=64, **headers):
        item = daemon.assets()[name]
        return daemon.get(f"/api/v1/assets/{item['id']}/thumbnail?size={size}", **headers)

    def drawn(self, daemon, name, size=64):
        """Requests the thumbnail, waits until it is drawn, and requests it again."""
        first = self.ask(daemon, name, size)
        self.assertEqual((first.status, first.headers["content-type"]), (202, "image/svg+xml"))
        self.assertEqual(first.headers["cache-control"], "no-store")
        daemon.wait_event("thumbnail", lambda data: data["asset"] == name and data["size"] == size)
        answer = self.ask(daemon, name, size)
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, "image/png"))
        return answer

    def test_a_picture_is_drawn_once_kept_and_made_anew_after_a_save(self):
        self.put("box.glb", (SIMPLE / "BoxVertexColors.glb").read_bytes())
        with self.serve() as daemon:
            daemon.sync()
            answer = self.drawn(daemon, "art/box.glb")
            pixels = png_pixels(answer.body)
            self.assertEqual(len(pixels), 64 * 64 * 4)
            covered = sum(alpha > 128 for alpha in pixels[3::4])
            self.assertTrue(64 * 64 * 0.2 < covered < 64 * 64 * 0.9, covered)
            self.assertGreater(len({pixels[i:i + 3] for i in range(0, len(pixels), 4) if pixels[i + 3] == 255}), 100)
            tag = answer.headers["etag"]
            self.assertEqual(self.ask(daemon, "art/box.glb", If_None_Match=tag).status, 304)
            self.assertEqual(self.ask(daemon, "art/box.glb", 50).headers["etag"], tag)  # 50 is rounded up to 64
            self.assertEqual(daemon.counters()["hob_thumbnails_total"], 1)
            self.assertEqual(self.ask(daemon, "art/box.glb", 31).status, 400)
        with self.serve() as daemon:
            daemon.sync()
            again = self.ask(daemon, "art/box.glb")
            self.assertEqual((again.status, again.headers["etag"]), (200, tag))
            self.put("box.glb", (SIMPLE / "AnimatedMorphCube.glb").read_bytes())
            daemon.sync()
            none = self.ask(daemon, "art/box.glb", "64&placeholder=0")
            self.assertEqual((none.status, none.body, none.headers["retry-after"]), (204, b"", "1"))
            self.assertEqual(none.headers["cache-control"], "no-store")
            daemon.wait_event("thumbnail", lambda data: data["asset"] == "art/box.glb")  # the request above has ordered it
            self.assertNotEqual(self.ask(daemon, "art/box.glb").headers["etag"], tag)
            self.assertEqual(daemon.counters()["hob_thumbnails_total"], 1)

    @unittest.skipUnless(shutil.which("git"), "there is no git")
    def test_a_result_that_is_held_back_is_not_drawn(self):
        subprocess.run(["git", "init", "-q"], cwd=self.art, check=True)
        self.put("box.glb", (SIMPLE / "BoxVertexColors.glb").read_bytes())
        with self.serve() as daemon:
            daemon.sync()
            tag = self.drawn(daemon, "art/box.glb").headers["etag"]
            (self.art / ".git/index.lock").touch()  # version control is at work
            self.put("box.glb", (SIMPLE / "AnimatedMorphCube.glb").read_bytes())
            daemon.wait_event("job", lambda data: data["asset"] == "art/box.glb" and data["state"] == "cooked")
            answer, state = self.ask(daemon, "art/box.glb"), daemon.assets()["art/box.glb"]["state"]
            if state != "stale":
                self.skipTest("this machine is too slow: the lock counts for 5 s only")
            self.assertEqual((answer.status, answer.headers.get("etag")), (200, tag))

    def serve_drawing(self, script):
        """Returns a daemon whose drawing program runs these shell lines before each picture."""
        programs = self.folder / "bin"
        programs.mkdir()
        for name in ("hob", "hob-worker"):
            shutil.copy(pathlib.Path(HOB).with_name(name), programs / name)
        fake = programs / "hob-thumbnail"
        fake.write_text(f"#!/bin/sh\n{script}\nexec '{THUMBNAIL}' \"$@\"\n")
        fake.chmod(0o755)
        return Daemon([self.art], self.cache, program=[str(programs / "hob")])

    def serve_held(self):
        """Returns a daemon and a pipe: its first picture is drawn once the pipe is written to."""
        first, gate = self.folder / "first", self.folder / "gate"
        os.mkfifo(gate)
        return self.serve_drawing(f"mkdir '{first}' 2>/dev/null && read line <'{gate}'"), gate

    def test_all_models_with_the_same_outputs_are_told_of_their_picture(self):
        names = [f"box{number}.glb" for number in range(300)]
        for name in names:
            self.put(name, (SIMPLE / "BoxVertexColors.glb").read_bytes())
        daemon, gate = self.serve_held()
        with daemon:
            daemon.sync()
            ids = {name: item["id"] for name, item in daemon.assets().items()}
            ask = lambda name: daemon.get(f"/api/v1/assets/{ids[name]}/thumbnail?size=64")
            self.assertEqual({ask(name).status for name in ids}, {202})
            gate.write_text("go\n")
            told = [daemon.wait_event("thumbnail")["asset"] for _ in ids]
            self.assertEqual(sorted(told), sorted(ids))
            self.assertEqual({(ask(name).status, ask(name).headers["etag"]) for name in ids}, {(200, ask(told[0]).headers["etag"])})
            self.assertEqual(daemon.counters()["hob_thumbnails_total"], 1)

    def test_what_changed_while_its_picture_was_drawn_is_told_of_the_new_one(self):
        self.put("box.glb", (SIMPLE / "BoxVertexColors.glb").read_bytes())
        daemon, gate = self.serve_held()
        with daemon:
            daemon.sync()
            self.assertEqual(self.ask(daemon, "art/box.glb").status, 202)
            self.put("box.glb", (SIMPLE / "AnimatedMorphCube.glb").read_bytes())
            daemon.sync()
            gate.write_text("go\n")
            daemon.wait_event("thumbnail")
            self.assertEqual(self.ask(daemon, "art/box.glb").status, 200)
            self.assertEqual(daemon.counters()["hob_thumbnails_total"], 2)

    def test_what_cannot_be_drawn_has_a_sign_and_is_not_tried_again(self):
        self.put("broken.glb", b"glTF\2\0\0\0")
        with self.serve() as daemon:
            daemon.sync()
            answer = self.ask(daemon, "art/broken.glb")
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, "image/svg+xml"))
            self.assertEqual(self.ask(daemon, "art/broken.glb", "64&placeholder=0").status, 204)
            self.assertEqual(daemon.get("/api/v1/assets/000000000000/thumbnail").status, 404)
            self.assertEqual(daemon.get("/api/v1/assets/000000000000/thumbnail?placeholder=0").status, 204)
            self.assertEqual(daemon.counters()["hob_thumbnails_total"], 0)

    def test_a_picture_whose_process_is_killed_is_drawn_when_it_is_asked_for_again(self):
        killed = self.folder / "killed"
        self.put("box.glb", (SIMPLE / "BoxVertexColors.glb").read_bytes())
        with self.serve_drawing(f"mkdir '{killed}' 2>/dev/null && kill -9 $$") as daemon:
            daemon.sync()
            self.assertEqual(self.ask(daemon, "art/box.glb").status, 202)
            until(killed.exists, "the first picture's end")
            until(lambda: self.ask(daemon, "art/box.glb").headers["content-type"] == "image/png", "a picture")

    def test_a_picture_whose_process_stays_does_not_hold_up_the_end(self):
        stays = self.folder / "stays"
        self.put("box.glb", (SIMPLE / "BoxVertexColors.glb").read_bytes())
        with self.serve_drawing(f"exec >/dev/null\nmkdir '{stays}'\nexec sleep 9999") as daemon:
            daemon.sync()
            self.assertEqual(self.ask(daemon, "art/box.glb").status, 202)
            until(stays.exists, "a process that closed its output")
            daemon.process.terminate()
            daemon.process.wait(timeout=DEADLINE)

    def test_skinned_compressed_and_textured_models(self):
        self.put("cook.json", '{"encode":"meshopt","vertices":"quantized"}')
        for name in ("SimpleSkin.gltf", "TextureCoordinateTest.gltf"):
            for file in SIMPLE.iterdir():
                if file.stem.startswith(name.split(".")[0]) or file.suffix in (".png", ".bin", ".jpg"):
                    self.put(file.name, file.read_bytes())
        with self.serve() as daemon:
            daemon.sync()
            for name in ("SimpleSkin.gltf", "TextureCoordinateTest.gltf"):
                pixels = png_pixels(self.drawn(daemon, "art/" + name).body)
                self.assertGreater(sum(alpha > 128 for alpha in pixels[3::4]), 200, name)


class Sources(Scenario):
    OBJ = "mtllib m.mtl\nusemtl a\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"

    def source(self, daemon, path):
        item = daemon.assets()["art/sub/a.obj"]
        return daemon.get(f"/api/v1/assets/{item['id']}/source/{path}")

    def test_only_what_an_asset_was_cooked_from_is_given(self):
        secret = self.folder / "secret.mtl"
        secret.write_text("newmtl a\n")
        self.put("sub/a.obj", self.OBJ)
        self.put("sub/m.mtl", "newmtl a\nKd 1 0 0\n")
        self.put("sub/other.txt", "not an input")
        with self.serve() as daemon:
            daemon.sync()
            own = self.source(daemon, "sub/a.obj")
            self.assertEqual((own.status, own.body.decode()), (200, self.OBJ))
            self.assertEqual(own.headers["content-type"], "application/octet-stream")
            self.assertEqual(own.headers["x-content-type-options"], "nosniff")
            self.assertEqual(self.source(daemon, "sub/m.mtl").body, b"newmtl a\nKd 1 0 0\n")
            for path in ("sub/other.txt", "other.txt", "sub/../sub/other.txt", "%2e%2e/secret.mtl", "/etc/passwd", "sub", ""):
                self.assertEqual(self.source(daemon, path).status, 404, path)
            # The name is still one of its inputs, but now leads out of the root.
            (self.art / "sub/m.mtl").unlink()
            (self.art / "sub/m.mtl").symlink_to(secret)
            self.assertEqual(self.source(daemon, "sub/m.mtl").status, 404)

    def test_a_daemon_may_keep_its_sources(self):
        self.put("sub/a.obj", self.OBJ)
        with self.serve("--no-sources") as daemon:
            daemon.sync()
            answer = self.source(daemon, "sub/a.obj")
            self.assertEqual((answer.status, answer.json()["code"]), (403, "http.no-sources"))
            self.assertIn("--no-sources", answer.json()["hint"])


if __name__ == "__main__":
    main()
