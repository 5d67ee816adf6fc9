"""Thousands of files at once, and a renamed folder: the resulting set of assets is exact."""
import os

from hobtest import Scenario, main, obj_text

FILES = int(os.environ.get("HOB_BURST", "1000"))


class Burst(Scenario):
    def test_unpack_then_rename_a_folder(self):
        with self.serve() as daemon:
            for i in range(FILES):
                self.put(f"pack/d{i % 20}/m{i}.obj", obj_text(1 + i % 3))
            (self.art / "pack").rename(self.art / "moved")
            daemon.sync()
            items = daemon.assets()
            self.assertEqual(set(items), {f"art/moved/d{i % 20}/m{i}.obj" for i in range(FILES)})
            self.assertTrue(all(item["state"] == "fresh" for item in items.values()))
            # Three different contents: the rest are copies, which cook nothing.
            self.assertEqual(daemon.cooked(), 3)
            import shutil
            shutil.rmtree(self.art / "moved")
            daemon.sync()
            self.assertEqual(daemon.assets(), {})


if __name__ == "__main__":
    main()
