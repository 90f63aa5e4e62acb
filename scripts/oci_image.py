#!/usr/bin/env python3
"""oci_image.py DOCKERFILE CONTEXT OUT.tar [NAME=VALUE ...]: an image as an OCI archive, without a container engine.

Carries out the instructions of the Dockerfile itself, with the build arguments NAME=VALUE: ARG, FROM debian:RELEASE[-slim] [AS stage], COPY [--from=stage],
RUN (in a chroot), LABEL, USER, ENV, VOLUME, EXPOSE, HEALTHCHECK, ENTRYPOINT. Another instruction is refused. The base is what debootstrap makes, without
what Debian's slim images leave out. The image has one layer. Files have the time SOURCE_DATE_EPOCH and come in the order of their names, so
the same packages give the same bytes. Needs root, debootstrap, and a mirror of Debian (BECKON_DEBIAN_MIRROR).

`skopeo copy oci-archive:OUT.tar docker-daemon:beckon:VERSION`, `podman load -i OUT.tar` and `docker load -i OUT.tar` (from Docker 25) read it.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

MIRROR = os.environ.get("BECKON_DEBIAN_MIRROR", "http://deb.debian.org/debian")
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
SLIM = ["doc", "groff", "info", "linda", "lintian", "locale", "man"]
# What differs from one run to the next, or is of this host.
NOT_KEPT = ["var/log/*", "var/cache/apt/*", "var/cache/ldconfig/*", "var/cache/debconf/*-old", "var/lib/apt/lists/*", "var/lib/dpkg/*-old",
            "var/lib/systemd/*", "etc/*-", "etc/resolv.conf", "etc/hostname", "etc/hosts", "tmp/*", "run/*", "dev/*", "proc/*", "sys/*"]


class Refused(Exception):
    pass


def must(*command, **options):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise Refused(f"{' '.join(str(word) for word in command)}: exit {done.returncode}\n{done.stdout[-4000:]}")


def instructions(text: str):
    """Pairs of an instruction and its arguments."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in re.sub(r"\\\n\s*", " ", lines).splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            yield word.upper(), rest.strip()


class Image:
    def __init__(self, work: pathlib.Path, context: pathlib.Path, given: dict):
        self.work, self.context, self.arguments = work, context, given
        self.bases: dict[str, pathlib.Path] = {}
        self.stages: dict[str, pathlib.Path] = {}
        self.root: pathlib.Path | None = None  # of the stage at work
        self.config: dict = {}

    def filled_in(self, text: str) -> str:
        return re.sub(r"\$\{(\w+)\}", lambda match: self.arguments.get(match.group(1), ""), text)

    def do(self, word: str, rest: str):
        step = getattr(self, f"do_{word.lower()}", None)
        if step is None:
            raise Refused(f"{word}: an instruction that this script does not know")
        step(rest)

    def do_arg(self, rest):
        if rest.split("=")[0] not in self.arguments:
            raise Refused(f"ARG {rest}: no value was given")

    def do_from(self, rest):
        match = re.fullmatch(r"debian:(\w+)(-slim)?(?: AS (\w+))?", self.filled_in(rest))
        if not match:
            raise Refused(f"FROM {rest}: not debian:RELEASE[-slim] [AS stage]")
        self.root = self.work / f"stage-{len(list(self.work.iterdir()))}"
        must("cp", "--archive", self.base(match.group(1)), self.root)
        if match.group(3):
            self.stages[match.group(3)] = self.root
        self.config = {"Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"], "Labels": {}, "Cmd": ["bash"]}

    def base(self, release: str) -> pathlib.Path:
        if release not in self.bases:
            root = self.work / f"base-{release}"
            must("debootstrap", "--variant=minbase", release, root, MIRROR)
            for name in SLIM:
                for path in (root / "usr/share" / name).glob("*"):
                    if name == "doc" and path.is_dir():
                        for file in path.iterdir():
                            if file.name != "copyright":
                                file.unlink() if not file.is_dir() or file.is_symlink() else shutil.rmtree(file)
                    else:
                        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            excluded = "".join(f"path-exclude /usr/share/{name}/*\n" for name in SLIM)
            (root / "etc/dpkg/dpkg.cfg.d/docker").write_text(f"{excluded}path-include /usr/share/doc/*/copyright\n")
            self.bases[release] = root
        return self.bases[release]

    def do_copy(self, rest):
        words = shlex.split(rest)
        top = self.context
        if words[0].startswith("--from="):
            top = self.stages[words.pop(0).removeprefix("--from=")]
        *sources, target = words
        files = [path for source in sources for path in sorted(top.glob(source.lstrip("/")))]
        if not files:
            raise Refused(f"COPY {rest}: there is no such file")
        where = self.root / target.lstrip("/")
        if target.endswith("/"):
            where.mkdir(parents=True, exist_ok=True)
        else:
            where.parent.mkdir(parents=True, exist_ok=True)
        for file in files:
            must("cp", "--archive", "--no-target-directory", file, where / file.name if target.endswith("/") else where)
            must("chown", "--recursive", "--no-dereference", "0:0", where / file.name if target.endswith("/") else where)

    def do_run(self, rest):
        for name in ("resolv.conf", "hosts"):
            shutil.copyfile(f"/etc/{name}", self.root / "etc" / name)
        mounts = 'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot "$1" /bin/sh -ec "$2"'
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "SOURCE_DATE_EPOCH": str(EPOCH), "LC_ALL": "C"}
        env |= {name: os.environ[name] for name in ("http_proxy",) if name in os.environ}
        must("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", mounts, "run", self.root, rest, env=env)

    def do_label(self, rest):
        for name, _, value in (pair.partition("=") for pair in shlex.split(self.filled_in(rest))):
            self.config["Labels"][name] = value

    def do_env(self, rest):
        self.config["Env"] += shlex.split(self.filled_in(rest))

    def do_user(self, rest):
        self.config["User"] = rest

    def do_volume(self, rest):
        self.config["Volumes"] = {path: {} for path in rest.split()}

    def do_expose(self, rest):
        self.config["ExposedPorts"] = {f"{port}/tcp": {} for port in rest.split()}

    def do_entrypoint(self, rest):
        self.config["Entrypoint"] = json.loads(rest)
        self.config.pop("Cmd", None)

    def do_healthcheck(self, rest):
        """Docker's extension of the configuration, with times in nanoseconds."""
        times = {name: int(value) * 10**9 for name, value in re.findall(r"--(interval|timeout|start-period)=(\d+)s", rest)}
        self.config["Healthcheck"] = {
            "Test": ["CMD", *json.loads(rest[rest.index("CMD") + 3:])], "Interval": times["interval"], "Timeout": times["timeout"],
            "StartPeriod": times["start-period"], "Retries": int(re.search(r"--retries=(\d+)", rest).group(1))}

    def clean(self):
        """Takes from the last stage what is of this run or host."""
        for pattern in NOT_KEPT:
            for path in self.root.glob(pattern):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        (self.root / "etc/machine-id").write_text("")
        shadow = self.root / "etc/shadow"
        shadow.write_text(re.sub(r"^((?:[^:]*:){2})\d+", rf"\g<1>{EPOCH // 86400}", shadow.read_text(), flags=re.M))


def layer(root: pathlib.Path) -> bytes:
    """A tar of the tree: sorted, with owners as numbers, and one time."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path in sorted(root.rglob("*")):
            entry = tar.gettarinfo(path, str(path.relative_to(root)))
            if entry is None:  # a socket
                continue
            entry.uname = entry.gname = ""
            entry.mtime = EPOCH
            if entry.isreg():
                with path.open("rb") as file:
                    tar.addfile(entry, file)
            else:
                tar.addfile(entry)
    return raw.getvalue()


def archive(image: Image, out: pathlib.Path):
    blobs: dict[str, bytes] = {}

    def blob(kind: str, data: bytes) -> dict:
        digest = hashlib.sha256(data).hexdigest()
        blobs[f"blobs/sha256/{digest}"] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    def encoded(value: dict) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    tree = layer(image.root)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH))
    architecture = subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    config = blob("config.v1+json", encoded({
        "created": created, "architecture": architecture, "os": "linux", "config": image.config,
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tree).hexdigest()}"]},
        "history": [{"created": created, "created_by": "oci_image.py"}]}))
    packed = blob("layer.v1.tar+gzip", gzip.compress(tree, 6, mtime=0))
    manifest = blob("manifest.v1+json", encoded({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": [packed]}))
    name = f"beckon:{image.config['Labels'].get('org.opencontainers.image.version', 'latest')}"
    manifest["annotations"] = {"org.opencontainers.image.ref.name": name.partition(":")[2], "io.containerd.image.name": name}
    blobs["oci-layout"] = encoded({"imageLayoutVersion": "1.0.0"})
    blobs["index.json"] = encoded({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]})
    with tarfile.open(out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for path, data in sorted(blobs.items()):
            entry = tarfile.TarInfo(path)
            entry.size, entry.mtime, entry.mode = len(data), EPOCH, 0o644
            tar.addfile(entry, io.BytesIO(data))


def main() -> int:
    if len(sys.argv) < 4:
        sys.exit("usage: oci_image.py DOCKERFILE CONTEXT OUT.tar [NAME=VALUE ...]")
    dockerfile, context, out = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("oci_image.py: an image is made as root, with debootstrap and a mirror of Debian in reach", file=sys.stderr)
        return 1
    work = pathlib.Path(tempfile.mkdtemp(prefix="beckon-image-"))
    try:
        image = Image(work, context, dict(word.split("=", 1) for word in sys.argv[4:]))
        for word, rest in instructions(dockerfile.read_text()):
            image.do(word, rest)
        image.clean()
        archive(image, out)
    except Refused as why:
        print(f"oci_image.py: {why}", file=sys.stderr)
        return 1
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", work], check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
