#!/usr/bin/env python3
"""./dev release VERSION: all files of a release, in build/release-VERSION, from a clean tree.

It works in a clone. There it gives the version to CMakeLists.txt and the Helm chart, and VERSION and the date to the section "Unreleased" of
CHANGELOG.md; that is one commit, whose times are those of its parent. So the same commit gives the same bytes each time, as
long as the mirror of Debian has the same packages. The caller's repository stays as it is, unless --tag is given.

  beckon_VERSION_debianN_ARCH.deb          built in a root of that Debian (scripts/package-in.sh): as root, with a mirror in reach
  beckon_VERSION_debianN_ARCH.spdx.json    SBOM: what is compiled into the binary, and what it is linked with (scripts/sbom.py)
  third-party-licenses_debianN.txt.gz      the licences of what is compiled into it
  beckon-image_VERSION_ARCH.tar            the image of packaging/image/Dockerfile as an OCI archive (scripts/oci_image.py)
  beckon-VERSION.tgz                       the Helm chart
  release-notes.md                         the section of CHANGELOG.md
  SHA256SUMS, SHA256SUMS.sig               sums of all of them, and with --key their signature

Exit 1 with the reason if something of it cannot be made.
"""

import argparse
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
DEBIAN = {"bookworm": "12", "trixie": "13"}
UNRELEASED = re.compile(r"^## Unreleased\b.*$", re.M)


class Refused(Exception):
    pass


def run(*command, cwd=None, env=None) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, env=env, text=True, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        raise Refused(f"{' '.join(str(word) for word in command)}: exit {done.returncode}")
    return done.stdout


def git(tree: pathlib.Path, *words, **more) -> str:
    return run("git", "-C", tree, *words, **more).strip()


def say(text: str):
    print(f"==> {text}", file=sys.stderr, flush=True)


def change(file: pathlib.Path, pattern: str, text: str):
    """Puts `text` in place of the one match of `pattern`."""
    old = file.read_text()
    new, count = re.subn(pattern, text, old, flags=re.M)
    if count != 1:
        raise Refused(f"{file.name}: {pattern} matches {count} times, not once")
    file.write_text(new)


def section_of(changelog: str, version: str) -> str:
    """What stands under the heading of that version."""
    begin = re.search(rf"^## {re.escape(version)} .*$", changelog, re.M)
    end = re.search(r"^## ", changelog[begin.end():], re.M)
    return changelog[begin.end():begin.end() + end.start() if end else None].strip() + "\n"


def commit_release(tree: pathlib.Path, version: str) -> int:
    """The commit of the release, with its tag, in a clone. Its time, in seconds since 1970."""
    epoch = int(git(tree, "log", "-1", "--format=%ct"))
    date = time.strftime("%Y-%m-%d", time.gmtime(epoch))
    changelog = tree / "CHANGELOG.md"
    if not UNRELEASED.search(changelog.read_text()):
        raise Refused('CHANGELOG.md has no section "## Unreleased": say there what the release brings')
    change(changelog, UNRELEASED.pattern, f"## {version} ({date})")
    change(tree / "CMakeLists.txt", r"^project\(beckon VERSION [\d.]+ ", f"project(beckon VERSION {version} ")
    chart = tree / "packaging/helm/beckon/Chart.yaml"
    change(chart, r"^version: .*$", f"version: {version}")
    change(chart, r"^appVersion: .*$", f'appVersion: "{version}"')
    who = git(ROOT, "log", "-1", "--format=%cn%n%ce").split("\n")
    env = os.environ | {f"GIT_{role}_{fact}": value for role in ("AUTHOR", "COMMITTER")
                        for fact, value in (("NAME", who[0]), ("EMAIL", who[1]), ("DATE", f"{epoch} +0000"))}
    git(tree, "commit", "--quiet", "--no-verify", "--all", "--message", f"release: {version}", env=env)
    git(tree, "tag", f"v{version}")
    return epoch


def tar_of(directory: pathlib.Path, name: str, epoch: int, left_out: set[str]) -> bytes:
    """A .tgz whose bytes follow from the files alone."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(directory.rglob("*")):
            if not path.is_file() or path.name in left_out:
                continue
            entry = tar.gettarinfo(path, f"{name}/{path.relative_to(directory)}")
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime, entry.mode = epoch, 0o644
            with path.open("rb") as file:
                tar.addfile(entry, file)
    return gzip.compress(raw.getvalue(), 9, mtime=0)


def build_packages(tree: pathlib.Path, targets: list[tuple[str, str]], into: pathlib.Path, env: dict):
    """For each Debian and architecture the package, in the directory RELEASE-ARCHITECTURE."""
    for release, architecture in targets:
        say(f"the package for {release}, {architecture}")
        run(tree / "scripts/package-in.sh", release, into / f"{release}-{architecture}", architecture, env=env | {"BECKON_BUILD_ANEW": "1"})


def take_package(directory: pathlib.Path, version: str, out: pathlib.Path):
    """Copies the package of a directory RELEASE-ARCHITECTURE, and what it says of its libraries, under the names of the release."""
    release, _, architecture = directory.name.partition("-")
    files = list(directory.glob("*.deb"))
    if release not in DEBIAN or not architecture or len(files) != 1:
        raise Refused(f"{directory}: not a directory RELEASE-ARCHITECTURE with one package")
    for field, wanted in (("Version", version), ("Architecture", architecture)):
        value = run("dpkg-deb", "--field", files[0], field).strip()
        if value != wanted:
            raise Refused(f"{files[0].name}: its {field} is {value}, not {wanted}")
    name = f"beckon_{version}_debian{DEBIAN[release]}_{architecture}"
    shutil.copyfile(files[0], out / f"{name}.deb")
    content = subprocess.run(["dpkg-deb", "--fsys-tarfile", files[0]], stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        missing = {f"./usr/share/doc/beckon/{file}" for file in ("beckon.spdx.json", "third-party-licenses.txt.gz")} - set(tar.getnames())
        if missing:
            raise Refused(f"{files[0].name} does not have {', '.join(sorted(missing))}")
        for inside, outside in (("beckon.spdx.json", f"{name}.spdx.json"), ("third-party-licenses.txt.gz", f"third-party-licenses_debian{DEBIAN[release]}.txt.gz")):
            (out / outside).write_bytes(tar.extractfile(f"./usr/share/doc/beckon/{inside}").read())


def sums(out: pathlib.Path):
    files = sorted(path for path in out.iterdir() if not path.name.startswith("SHA256SUMS"))
    (out / "SHA256SUMS").write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files))


def sign(out: pathlib.Path, key: pathlib.Path):
    run("openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", out / "SHA256SUMS", "-out", out / "SHA256SUMS.sig")
    run("openssl", "pkey", "-in", key, "-pubout", "-out", out / "release-key.pem")
    run("openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", out / "release-key.pem", "-sigfile", out / "SHA256SUMS.sig", "-in", out / "SHA256SUMS")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev release", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="MAJOR.MINOR.PATCH")
    parser.add_argument("--key", type=pathlib.Path, help="private key of the signature, an Ed25519 key as PEM (openssl genpkey -algorithm ed25519)")
    parser.add_argument("--debian", default=",".join(DEBIAN), help="releases of Debian (%(default)s); the image has the last one")
    parser.add_argument("--arm64", action="store_true", help="also the package for arm64 on Debian 13, cross-compiled")
    parser.add_argument("--packages", type=pathlib.Path, help="builds no packages: takes those of its directories RELEASE-ARCHITECTURE")
    parser.add_argument("--no-image", action="store_true", help="makes no image, which needs root and a mirror of Debian")
    parser.add_argument("--out", type=pathlib.Path, help="an empty or new directory (build/release-VERSION)")
    parser.add_argument("--tag", action="store_true", help="when all is made, takes the commit of the release over and tags it vVERSION")
    given = parser.parse_args()
    if not re.fullmatch(r"\d+\.\d+\.\d+", given.version):
        raise Refused(f"{given.version} is not MAJOR.MINOR.PATCH")
    for name in given.debian.split(","):
        if name not in DEBIAN:
            raise Refused(f"--debian {name}: not one of {', '.join(DEBIAN)}")
    if given.key and not given.key.is_file():
        raise Refused(f"--key {given.key}: there is no such file")
    return given


def check_tools(given: argparse.Namespace):
    if given.packages and given.no_image:
        return
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        raise Refused("packages and image are made in roots of Debian: as root, with debootstrap, and a mirror of Debian in reach")


def check_tree(version: str):
    if git(ROOT, "status", "--porcelain"):
        raise Refused("the tree is not clean: commit first (git status)")
    if git(ROOT, "tag", "--list", f"v{version}"):
        raise Refused(f"v{version} is released: there is such a tag")


def image(tree: pathlib.Path, given: argparse.Namespace, packages: pathlib.Path, env: dict, out: pathlib.Path):
    release = given.debian.split(",")[-1]
    architecture = run("dpkg", "--print-architecture").strip()
    context = tree.parent / "context"
    context.mkdir()
    for file in [*(packages / f"{release}-{architecture}").glob("*.deb"), tree / "packaging/image/entrypoint", tree / "packaging/image/health"]:
        shutil.copy(file, context)
    say(f"the image, on {release}")
    run(tree / "scripts/oci_image.py", tree / "packaging/image/Dockerfile", context, out / f"beckon-image_{given.version}_{architecture}.tar",
        f"DEBIAN={release}", f"VERSION={given.version}", f"REVISION={git(tree, 'rev-parse', 'HEAD')}", env=env)


def release(given: argparse.Namespace):
    check_tree(given.version)
    check_tools(given)
    out = (given.out or ROOT / f"build/release-{given.version}").resolve()
    work = out.with_name(out.name + ".work")
    shutil.rmtree(work, ignore_errors=True)
    if out.exists() and any(out.iterdir()):
        raise Refused(f"{out} is not empty")
    out.mkdir(parents=True, exist_ok=True)
    tree = work / "source"
    run("git", "clone", "--quiet", "--no-tags", ROOT, tree)
    epoch = commit_release(tree, given.version)
    env = os.environ | {"SOURCE_DATE_EPOCH": str(epoch)}

    own = run("dpkg", "--print-architecture").strip()
    targets = [(name, own) for name in given.debian.split(",")] + ([("trixie", "arm64")] if given.arm64 else [])
    packages = (given.packages or work / "packages").resolve()
    if not given.packages:
        build_packages(tree, targets, packages, env)
    for directory in sorted(packages.iterdir()):
        take_package(directory, given.version, out)
    if not list(out.glob("*_arm64.deb")):
        say("there is no package for arm64: --arm64 cross-compiles it, which takes as long as a first build")
    if given.no_image:
        say("there is no image: --no-image")
    else:
        image(tree, given, packages, env, out)
    (out / f"beckon-{given.version}.tgz").write_bytes(tar_of(tree / "packaging/helm/beckon", "beckon", epoch, {".helmignore"}))
    (out / "release-notes.md").write_text(section_of((tree / "CHANGELOG.md").read_text(), given.version))
    sums(out)
    if given.key:
        sign(out, given.key)
    else:
        say("SHA256SUMS is not signed: --key FILE")
    if given.tag:
        git(ROOT, "fetch", "--quiet", "--no-tags", tree, f"v{given.version}")
        git(ROOT, "tag", "--annotate", "--message", f"Beckon {given.version}", f"v{given.version}", "FETCH_HEAD")
        say(f"v{given.version} is tagged: git merge --ff-only v{given.version} takes its commit into this branch")
    shutil.rmtree(work)
    for path in sorted(out.iterdir()):
        print(f"{path.stat().st_size:>10}  {path}")


def main() -> int:
    try:
        release(options())
    except Refused as why:
        print(f"release: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
