"""tools/lay_out says whether a binary was laid out, and what it lacks."""
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent / "lay_out"


def lay_out(*args):
    return subprocess.run([sys.executable, "-B", TOOL, *args], capture_output=True, text=True, check=False)


def elf(*headers, rest=b""):
    """The beginning of a 64-bit ELF file with program headers of these types and flags."""
    head = struct.pack("<4s28xQ14xHH6x", b"\x7fELF", 64, 56, len(headers))
    return head + b"".join(struct.pack("<II48x", *header) for header in headers) + rest


LOAD, STACK = 1, 0x6474E551
MARK = b" .bolt.org.text"


class LayOut(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.binary = pathlib.Path(folder.name) / "binary"

    def test_a_binary_as_it_was_linked_is_told_from_one_that_was_laid_out(self):
        self.binary.write_bytes(b"\x7fELF .text")
        done = lay_out("--check", self.binary)
        self.assertEqual(done.returncode, 1)
        self.assertIn("as the linker left it", done.stderr)
        self.binary.write_bytes(elf((LOAD, 5), (STACK, 6), rest=MARK))
        self.assertEqual(lay_out("--check", self.binary).returncode, 0)

    def test_stacks_that_could_be_executed_are_told(self):
        """llvm-bolt can take the header that says they are not, and a hardened service does not start then."""
        for headers in ([(LOAD, 5)], [(LOAD, 5), (STACK, 7)]):
            self.binary.write_bytes(elf(*headers, rest=MARK))
            done = lay_out("--check", self.binary)
            self.assertEqual(done.returncode, 1)
            self.assertIn("are executable", done.stderr)

    def test_without_llvm_bolt_it_names_the_package(self):
        self.binary.write_bytes(b"\x7fELF")
        done = lay_out("sluice", self.binary, "--bolt", "no-such-bolt")
        self.assertEqual(done.returncode, 2)
        self.assertIn("apt-get install bolt-19", done.stderr)

    def test_what_goes_wrong_leaves_the_binary_and_names_the_way_out(self):
        self.binary.write_bytes(b"\x7fELF")
        done = lay_out("sluice", self.binary, "--bolt", "false")
        self.assertEqual(done.returncode, 1)
        self.assertIn("-DSLUICE_LAYOUT=OFF", done.stderr)
        self.assertEqual(self.binary.read_bytes(), b"\x7fELF")
        self.assertEqual([self.binary], list(self.binary.parent.iterdir()))


if __name__ == "__main__":
    unittest.main()
