"""Base class of scenarios that run `hob` commands, and the smallest glTF."""
import os
import subprocess

from hobtest import DEADLINE, HOB, Scenario

TRIANGLE_URI = "AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAA"  # (0, 0, 0), (1, 0, 0), (0, 1, 0)
GLTF = ('{"asset":{"version":"2.0"},"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0}],'
        '"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],'
        '"accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3","min":[0,0,0],"max":[1,1,0]}],'
        '"bufferViews":[{"buffer":0,"byteLength":36}],"buffers":[{"uri":"%s","byteLength":36}]}')
TRIANGLE = bytes(12) + b"\0\0\x80?" + bytes(12) + b"\0\0\x80?" + bytes(4)


class CommandLine(Scenario):
    daemon = None

    def hob(self, *args, code=0, url=True, **environment):
        """Runs hob, checks its exit code, and returns stdout and stderr as texts."""
        where = {"HOB_URL": f"127.0.0.1:{self.daemon.port}"} if url and self.daemon else {}
        result = subprocess.run([HOB, *map(str, args)], capture_output=True, text=True, timeout=DEADLINE, check=False,
                                env=dict(os.environ) | {"NO_COLOR": "1"} | where | environment)
        self.assertEqual(result.returncode, code, (args, result.stdout, result.stderr))
        self.assertNotIn("runtime error", result.stderr)
        self.assertNotIn("Sanitizer", result.stderr)
        return result.stdout, result.stderr

    def start(self, *options):
        self.daemon = self.serve(*options)
        self.addCleanup(lambda: self.daemon.process.poll() is None and self.daemon.kill())
        self.daemon.sync()

    def tearDown(self):
        if self.daemon and self.daemon.process.poll() is None:
            self.assertEqual(self.daemon.stop(), 0)
