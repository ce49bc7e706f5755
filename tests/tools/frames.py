# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of `holoflow run` share."""
import re

from command import CommandTest, needed

np = needed("numpy")

SIZES = [(1, 1), (1, 7), (5, 3), (21, 33), (64, 48)]
PASS = '{"nodes": {"in": {"type": "Input"}, "out": {"type": "Output"}}, "edges": ["in -> out"]}'
QUEUE = "batchqueue output_size={} output_stride={} target_capacity=8"


def ramp(shape, dtype):
    """Every value differs from its neighbours; the high bytes of 16 bits are used."""
    count = int(np.prod(shape))
    values = np.arange(count, dtype="u8") * 2654435761 >> 7
    if dtype in ("f4", "c8"):
        real = (values % 10007).astype("f4") / 7 - 300
        return (real + (1j * real[::-1] if dtype == "c8" else 0)).astype(dtype).reshape(shape)
    return values.astype(dtype).reshape(shape)


class RunTest(CommandTest):
    def run_graph(self, graph, source, target, *more):
        """Frames in and out of a run that succeeds; the lines before its summary are in `notes`."""
        result = self.holoflow("run", graph, "--in", source, "--out", target, "--device", "cpu", *more)
        self.assertEqual(result.returncode, 0, result.stderr)
        *self.notes, summary = result.stderr.splitlines()
        self.assertRegex(summary, r"^\d+ frames? in, \d+ frames? out, \d+\.\d{3} seconds on CPU$")
        self.assertEqual(result.stdout, "")
        self.assertFalse(list(self.folder.glob("*.part-*")))
        return [int(count) for count in re.findall(r"(\d+) frames?", summary)]

    def refuse(self, graph, source, target, *parts, options=()):
        before = sorted(path.name for path in self.folder.iterdir())
        self.assert_line(self.bad("run", graph, "--in", source, "--out", target, *options), *parts)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before, "it left something behind")

    def save(self, name, array, **options):
        np.save(self.folder / name, array, **options)

    def load(self, name):
        return np.load(self.folder / name)

    def assert_same(self, got, expected):
        self.assertEqual((got.dtype, got.shape), (expected.dtype, expected.shape))
        np.testing.assert_array_equal(got, expected)
