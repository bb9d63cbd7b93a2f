"""tools/try_image names what it lacks before it begins."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "try_image"


class TryImage(unittest.TestCase):
    def test_what_is_missing_is_named_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("dirname", "id"):
                os.symlink(shutil.which(name), os.path.join(folder, name))
            done = subprocess.run([shutil.which("bash"), TOOL], capture_output=True, text=True, check=False,
                                  env={"PATH": folder})
        self.assertEqual(done.returncode, 1)
        self.assertIn("run scripts/setup test" if os.geteuid() == 0 else "only root", done.stderr)


if __name__ == "__main__":
    unittest.main()
