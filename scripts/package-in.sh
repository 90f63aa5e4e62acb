#!/usr/bin/env bash
# package-in.sh RELEASE DIRECTORY [ARCHITECTURE]
#
# Builds the Debian package for another release of Debian, in a root of that release with the packages of the build, and puts it
# into DIRECTORY. As root, with a mirror of Debian in reach (BECKON_DEBIAN_MIRROR); the first time it takes as long as a first build. The
# root, the build and the compiler's cache stay in ${XDG_CACHE_HOME:-~/.cache}/beckon/debian-RELEASE.
#
# ARCHITECTURE: another one than this machine's, e.g. arm64. Debian's cross-compiler builds for it with that architecture's libraries,
# and QEMU runs the new binary where the package needs it (man page, completion, --version).
#
# BECKON_BUILD_ANEW=1: nothing of an earlier build is used but the compiler's cache. SOURCE_DATE_EPOCH: the time of all files.
# BECKON_BUILD_JOBS: how many compilers run at a time; by default as many as there are cores.
set -euo pipefail

readonly SOURCE="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
(($# == 2 || $# == 3)) || { echo "usage: package-in.sh RELEASE DIRECTORY [ARCHITECTURE]" >&2; exit 2; }
[[ $EUID == 0 ]] || { echo "package-in.sh: only root can make a root directory of Debian" >&2; exit 1; }
readonly RELEASE="$1" MIRROR="${BECKON_DEBIAN_MIRROR:-http://deb.debian.org/debian}" OWN="$(dpkg --print-architecture)"
cross="${3:-$OWN}"
[[ "$cross" != "$OWN" ]] || cross=
readonly STATE="${XDG_CACHE_HOME:-$HOME/.cache}/beckon/debian-$RELEASE${cross:+-$cross}"
mkdir -p "$2"
readonly OUT="$(cd "$2" && pwd)"

# Of two at a time one builds, and the other finds it done.
mkdir -p "$STATE"
exec 9>"$STATE/lock"
flock 9

if [[ ! -e "$STATE/root/.complete" ]]; then
    rm -rf "$STATE/root"
    debootstrap --variant=minbase "$RELEASE" "$STATE/root" "$MIRROR" >"$STATE/debootstrap.log" || { tail -20 "$STATE/debootstrap.log"; exit 1; }
    touch "$STATE/root/.complete"
fi
cp /etc/resolv.conf /etc/hosts "$STATE/root/etc/"
[[ -z "${BECKON_BUILD_ANEW:-}" ]] || rm -rf "$STATE/build"
mkdir -p "$STATE/root/"{source,build,out,ccache} "$STATE/ccache" "$STATE/build"
packages="$(awk '/^\[/ { build = $0 == "[build]"; next } build && NF && !/^#/ { print $1 }' "$SOURCE/scripts/debian-packages.txt" | xargs)"

cat >"$STATE/root/make-package" <<'END'
set -euo pipefail
jobs="$1" cross="$2"
shift 2
packages=(file "$@")
settings=()
[[ -z "$cross" ]] || dpkg --add-architecture "$cross"
if [[ ! -e /.installed || "$(cat /.installed)" != "${packages[*]}" ]]; then
    apt-get update -q
    if [[ "$cross" ]]; then
        # Tools are this machine's, libraries the other's; a package for all architectures has no suffix.
        wanted=(crossbuild-essential-"$cross" dpkg-dev qemu-user)
        for package in "${packages[@]}"; do
            case "$package" in
                build-essential) continue ;;
                lib* | prometheus-cpp-dev)
                    [[ "$(apt-cache show --no-all-versions "$package" | sed -n 's/^Architecture: //p' | head -1)" == all ]] || package+=":$cross" ;;
            esac
            wanted+=("$package")
        done
    else
        wanted=("${packages[@]}")
    fi
    apt-get install -y -q --no-install-recommends "${wanted[@]}"
    echo "${packages[*]}" >/.installed
fi
if [[ "$cross" ]]; then
    export DEB_HOST_ARCH="$cross"
    triplet="$(dpkg-architecture --host-arch "$cross" --query DEB_HOST_MULTIARCH --force)"
    export PKG_CONFIG_LIBDIR="/usr/lib/$triplet/pkgconfig:/usr/share/pkgconfig"
    cpu="$(dpkg-architecture --host-arch "$cross" --query DEB_HOST_GNU_CPU --force)"
    settings=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$cpu" "-DCMAKE_CXX_COMPILER=$triplet-g++"
        "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-$cpu" "-DCPACK_DEBIAN_PACKAGE_ARCHITECTURE=$cross")
fi
cmake -S /source -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release "${settings[@]}"
ninja -C /build ${jobs:+-j "$jobs"} beckon beckon-bench package_files
${cross:+qemu-$cpu} /build/beckon --version
cpack --config /build/CPackConfig.cmake -B /out/parts
mv /out/parts/*.deb /out/
rm -rf /out/parts
END

# Mounts and processes end with the script.
unshare --mount --pid --fork --kill-child bash -euo pipefail -c '
    state="$1" source="$2" out="$3"
    shift 3
    root="$state/root"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --bind -o ro "$source" "$root/source"
    mount --bind "$state/build" "$root/build"
    mount --bind "$state/ccache" "$root/ccache"
    mount --bind "$out" "$root/out"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive CCACHE_DIR=/ccache ${http_proxy:+http_proxy="$http_proxy"} \
        ${SOURCE_DATE_EPOCH:+SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH"} \
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime chroot "$root" bash /make-package "$@"
' build "$STATE" "$SOURCE" "$OUT" "${BECKON_BUILD_JOBS:-}" "$cross" $packages >&2
ls "$OUT"/*.deb
