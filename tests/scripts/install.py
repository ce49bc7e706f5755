#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Installs into an empty folder and uses what lies there, as on a Debian without dpkg-dev.

The build is this test's own, since the prefix is compiled in; ccache has its object files already.
dpkg-architecture is hidden from Meson, which without it would take lib64 for the library folder.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ["HOLOFLOW_SOURCE_ROOT"])
BUILD = Path(os.environ["HOLOFLOW_BUILD_ROOT"])
OURS = ("GST_", "HOLOFLOW_", "G_DEBUG", "MESON_", "PKG_CONFIG_", "LD_LIBRARY_PATH")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADER = re.compile(r"`((?:holoflow|holoflow_event|curaii)?/?[\w/]+\.hh)`")


def run(command, folder, **options):
    """Standard output of a command that must succeed, its errors shown where it does not."""
    result = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True,
                            text=True, timeout=1700, check=False, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command}: exit status {result.returncode}\n"
                             f"{result.stdout}{result.stderr}")
    return result.stdout


def path_without(program, folder):
    """A folder for PATH in which everything can be found but one program."""
    folder.mkdir()
    for place in os.environ["PATH"].split(":"):
        for file in Path(place).iterdir() if Path(place).is_dir() else ():
            link = folder / file.name
            if file.name != program and not link.is_symlink():
                link.symlink_to(file)
    return folder


def compiler():
    targets = json.loads(run(["meson", "introspect", "--targets", BUILD], ROOT))
    return " ".join(next(target["target_sources"][0]["compiler"] for target in targets
                         if target["name"] == "holoflow"))


def option(name):
    options = json.loads(run(["meson", "introspect", "--buildoptions", BUILD], ROOT))
    return next(entry["value"] for entry in options if entry["name"] == name)


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        cls.env = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}
        cls.minimal = dict(cls.env, CXX=compiler(), CCACHE_NOHASHDIR="1",
                           PATH=str(path_without("dpkg-architecture", cls.folder / "programs")))
        cls.env["GST_REGISTRY"] = str(cls.folder / "registry.bin")
        # Beside the build that is tested: from there the sources have the same relative names.
        cls.build = BUILD.with_name(BUILD.name + "-install")
        shutil.rmtree(cls.build, ignore_errors=True)
        cls.prefix = cls.folder / "prefix"
        cls.configure(cls.build, cls.prefix)
        run(["ninja", "-C", cls.build], ROOT, env=cls.minimal)
        cls.told = run(["meson", "install", "-C", cls.build, "--no-rebuild"], ROOT, env=cls.minimal)
        cls.doc = cls.prefix / "share" / "doc" / "holoflow"

    @classmethod
    def configure(cls, build, prefix):
        run(["meson", "setup", build, f"--prefix={prefix}", "-Dcuda=disabled", "-Dtests=disabled",
             "-Dgstreamer=enabled", "-Dtools=enabled", *[f"-D{name}={str(option(name)).lower()}"
             for name in ("buildtype", "werror", "b_ndebug")]], ROOT, env=cls.minimal)

    def shell(self, script):
        """What a shell prints that has only sourced env.sh."""
        env_sh = self.prefix / "share" / "holoflow" / "env.sh"
        return run(["sh", "-eu", "-c", f". '{env_sh}'\n{script}"], self.folder, env=self.env)

    def library_dir(self):
        return next(self.prefix.rglob("libholoflow.so.0")).parent

    @unittest.skipUnless(Path("/etc/debian_version").exists(), "not Debian")
    def test_debians_library_folder_is_taken_without_dpkg_dev(self):
        multiarch = run(["g++", "-print-multiarch"], self.folder).strip()
        self.assertEqual(self.library_dir(), self.prefix / "lib" / multiarch)
        self.assertTrue((self.library_dir() / "gstreamer-1.0" / "libgstholoflow.so").exists())
        self.assertTrue((self.library_dir() / "pkgconfig" / "holoflow.pc").exists())

    def test_install_prints_how_the_element_is_found(self):
        self.assertIn(f'export GST_PLUGIN_PATH_1_0="{self.library_dir()}/gstreamer-1.0"', self.told)
        self.assertIn(f'. "{self.prefix}/share/holoflow/env.sh"', self.told)

    def test_the_element_exists_and_runs(self):
        self.shell("gst-inspect-1.0 --exists holoflowbin")
        inspected = self.shell("gst-inspect-1.0 holoflowbin")
        self.assertIn(f"{self.library_dir()}/gstreamer-1.0/libgstholoflow.so", inspected)
        self.shell("""timeout 60 gst-launch-1.0 -q videotestsrc num-buffers=3 \
            ! video/x-raw,format=GRAY8,width=8,height=6 ! holoflowbin graph='conversion target=U8' \
            ! filesink location=frames.raw""")
        self.assertEqual((self.folder / "frames.raw").stat().st_size, 3 * 8 * 6)

    def test_the_command_runs_with_and_without_env_sh(self):
        graph = "conversion target=F32"
        caps = "video/x-raw,format=GRAY8,width=8,height=6"
        self.shell(f"holoflow check '{graph}' --caps '{caps}'")
        run([self.prefix / "bin" / "holoflow", "check", graph, "--caps", caps], self.folder,
            env=self.env)

    def test_programs_outside_the_tree_are_built_and_run(self):
        shutil.copy(self.doc / "examples" / "own_task.cc", self.folder)
        shutil.copy(ROOT / "tests" / "api" / "logging.cc", self.folder)
        for program in ("own_task", "logging"):
            self.shell(f"g++ -std=c++20 {program}.cc -o {program} "
                       f"$(pkg-config --cflags --libs holoflow)\n./{program}")

    def test_pkg_config_knows_the_folders(self):
        for variable, folder in (("libdir", "."), ("moduledir", "holoflow")):
            told = self.shell(f"pkg-config --variable={variable} holoflow").strip()
            self.assertEqual(told, str(self.library_dir() / folder))

    def test_the_licence_is_installed(self):
        self.assertEqual((self.doc / "LICENSE").read_text(), (ROOT / "LICENSE").read_text())

    def test_links_between_installed_pages_lead_somewhere(self):
        pages = sorted(self.doc.rglob("*.md"))
        self.assertGreater(len(pages), 5)
        for page in pages:
            for link in LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
                target = link.split("#")[0]
                if not link.startswith("http"):
                    with self.subTest(page=page.name, link=link):
                        self.assertTrue((page.parent / target).exists(), "leads nowhere")

    def test_pages_for_users_name_installed_headers_only(self):
        for page in ("cpp.md", "writing-a-task.md"):
            text = (self.doc / "docs" / page).read_text().split("\n## A built-in task")[0]
            for name in set(HEADER.findall(text)):
                with self.subTest(page=page, header=name):
                    found = [file for file in (self.prefix / "include").rglob("*.hh")
                             if str(file).endswith("/" + name)]
                    self.assertTrue(found, "is not installed")

    def test_with_the_systems_prefix_gstreamer_and_pkg_config_find_it(self):
        build = self.folder / "build-usr"
        self.configure(build, "/usr")
        installed = json.loads(run(["meson", "introspect", "--installed", build], ROOT))
        places = {Path(place).name: Path(place).parent for place in installed.values()}
        plugins = run(["pkg-config", "--variable=pluginsdir", "gstreamer-1.0"], ROOT).strip()
        self.assertEqual(places["libgstholoflow.so"], Path(plugins))
        known = run(["pkg-config", "--variable=pc_path", "pkg-config"], ROOT).strip().split(":")
        self.assertIn(str(places["holoflow.pc"]), known)
        self.assertNotIn("env.sh", places)


if __name__ == "__main__":
    unittest.main(verbosity=2)
