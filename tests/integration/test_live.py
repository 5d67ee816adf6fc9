"""Unsaved models: one user's layer over the assets, for clients that request it."""
import errno
import hashlib
import json
import unittest

from faulty import Faults
from hobtest import MODELS, Scenario, main, obj_text

CUBE = (MODELS / "simple/AnimatedMorphCube.glb").read_bytes()
COLORS = (MODELS / "simple/BoxVertexColors.glb").read_bytes()


class Live(Scenario):
    def push(self, daemon, user, asset, data, wanted=201):
        digest = hashlib.sha256(data).hexdigest()
        answer = daemon.request("PUT", f"/blobs/{digest}", data)
        self.assertIn(answer.status, (201, 204), answer.body)
        answer = daemon.request("PUT", f"/api/v1/live/{user}/{asset}", json.dumps({"sha256": digest}))
        self.assertEqual(answer.status, wanted, answer.body)
        return answer

    def mesh(self, daemon, asset, live=None):
        answer = daemon.get(f"/a/{asset}?output=meshes" + (f"&live={live}" if live else ""), Prefer="wait=60")
        return hashlib.sha256(answer.body).hexdigest() if answer.status == 200 else answer.status

    def test_a_model_that_is_not_saved_is_seen_by_those_who_ask_for_it(self):
        self.put("box.obj", obj_text(3))
        with self.serve("--live") as daemon:
            daemon.sync()
            saved = self.mesh(daemon, "art/box.obj")
            told = self.push(daemon, "ann", "art/box.obj", CUBE)
            self.assertEqual(told.json()["name"], "live/ann/art/box.obj.glb")
            daemon.sync()
            shown = self.mesh(daemon, "art/box.obj", "ann")
            self.assertNotEqual(shown, saved)
            self.assertEqual(self.mesh(daemon, "art/box.obj"), saved)
            self.assertEqual(self.mesh(daemon, "art/box.obj", "ben"), saved)
            self.push(daemon, "ann", "art/box.obj", COLORS)
            daemon.sync()
            self.assertNotIn(self.mesh(daemon, "art/box.obj", "ann"), (saved, shown))
            self.push(daemon, "ann", "art/new.glb", CUBE)
            daemon.sync()
            self.assertEqual(self.mesh(daemon, "art/new.glb", "ann"), shown)
            self.assertEqual(self.mesh(daemon, "art/new.glb"), 404)
            dropped = daemon.request("DELETE", "/api/v1/live/ann/art/box.obj")
            self.assertEqual((dropped.status, dropped.json()), (200, {"dropped": 1}))
            daemon.sync()
            self.assertEqual(self.mesh(daemon, "art/box.obj", "ann"), saved)
            self.assertEqual(daemon.request("DELETE", "/api/v1/live/ann").json(), {"dropped": 1})
            daemon.sync()
            self.assertEqual(self.mesh(daemon, "art/new.glb", "ann"), 404)

    def test_it_is_cooked_with_the_settings_of_the_saved_model(self):
        self.put("props/box.glb", CUBE)
        self.put("props/cook.json", json.dumps({"scale": 3, "unit": "cm"}))
        self.put("props/box.glb.cook.json", json.dumps({"vertices": "quantized"}))
        with self.serve("--live") as daemon:
            daemon.sync()
            self.push(daemon, "ann", "art/props/box.glb", CUBE)
            self.push(daemon, "ann", "art/box.glb", CUBE)
            daemon.sync()

            def settings(asset):
                return daemon.get(f"/api/v1/assets/{daemon.assets()[asset]['id']}/settings").json()["settings"]

            live, saved = settings("live/ann/art/props/box.glb.glb"), settings("art/props/box.glb")
            self.assertEqual((live["scale"], live["vertices"], live["unit"], saved["unit"]), (3, "quantized", "file", "cm"))
            self.assertEqual(settings("live/ann/art/box.glb.glb")["scale"], 1)
            self.assertEqual(daemon.request("DELETE", "/api/v1/live/ann/art/props/box.glb").json(), {"dropped": 1})
            self.assertEqual(daemon.request("DELETE", "/api/v1/live/ann").json(), {"dropped": 1})
            self.assertEqual([path for path in (self.cache / "live").rglob("*") if path.is_file()], [])

    def test_the_layer_ends_with_the_daemon(self):
        with self.serve("--live") as daemon:
            self.push(daemon, "ann", "art/box.obj", CUBE)
            daemon.sync()
            self.assertEqual(list(daemon.assets()), ["live/ann/art/box.obj.glb"])
        with self.serve("--live") as daemon:
            daemon.sync()
            self.assertEqual(list(daemon.assets()), [])
        self.assertEqual([path for path in (self.cache / "live").rglob("*") if path.is_file()], [])

    def test_what_cannot_be_taken_is_refused_in_words(self):
        with self.serve("--live") as daemon:
            answer = daemon.request("PUT", "/api/v1/live/ann/art/box.obj", json.dumps({"sha256": "0" * 64}))
            self.assertEqual((answer.status, answer.json()["hint"]), (404, "send it first: PUT /blobs/SHA256"))
            for body in ("", "{}", "[]", '{"sha256":"x"}', '{"sha256":7}'):
                self.assertEqual(daemon.request("PUT", "/api/v1/live/ann/art/box.obj", body).status, 400, body)
            for user, asset in (("%2e%2e", "art/x"), ("a%20b", "art/x"), ("ann", "art"), ("ann", "art/.hidden"), ("ann", "art/a%0Ab")):
                answer = daemon.request("PUT", f"/api/v1/live/{user}/{asset}", json.dumps({"sha256": "0" * 64}))
                self.assertEqual(answer.status, 400, (user, asset, answer.body))
            for user in ("", "%2e%2e", "a%20b", "ann/art"):
                answer = daemon.get(f"/a/art/box.obj?live={user}")
                self.assertEqual(answer.status, 400, (user, answer.body))
                self.assertIn("is not a valid user name", answer.json()["detail"])
            self.push(daemon, "ann", "art/broken.obj", b"no model")
            daemon.sync()
            answer = daemon.get("/a/art/broken.obj?live=ann")
            self.assertEqual(answer.status, 422, answer.body)
            self.assertIn(b"broken.obj.glb", answer.body)
        with self.serve() as daemon:
            self.push(daemon, "ann", "art/box.obj", CUBE, 404)

    def test_a_full_disk_is_said_and_leaves_what_was_shown(self):
        faults = Faults(self.folder)
        with faults.serve([self.art], self.cache, "--live") as daemon:
            self.push(daemon, "ann", "art/box.obj", CUBE)
            daemon.sync()
            shown = self.mesh(daemon, "art/box.obj", "ann")
            with faults.fail("create", errno.ENOSPC, part=".hob-live"):
                answer = self.push(daemon, "ann", "art/box.obj", COLORS, 507)
            self.assertEqual(answer.json()["code"], "http.disk-full")
            daemon.sync()
            self.assertEqual(self.mesh(daemon, "art/box.obj", "ann"), shown)

    def test_a_folder_of_that_name_stands_in_the_way(self):
        (self.folder / "live").mkdir()
        self.art = self.folder / "live"
        with self.assertRaisesRegex(Exception, "is called 'live'"):
            self.serve("--live").stop()


if __name__ == "__main__":
    main()
