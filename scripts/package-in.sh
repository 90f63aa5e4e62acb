#!/usr/bin/env bash
# package-in.sh RELEASE DIRECTORY
#
# Builds the Debian package for another release of Debian, in a root of that release with the packages of the build, and puts it
# into DIRECTORY. As root, with a mirror of Debian in reach (BECKON_DEBIAN_MIRROR); the first time it takes as long as a first build. The
# root, the build and the compiler's cache stay in ${XDG_CACHE_HOME:-~/.cache}/beckon/debian-RELEASE.
set -euo pipefail

readonly SOURCE="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
(($# == 2)) || { echo "usage: package-in.sh RELEASE DIRECTORY" >&2; exit 2; }
[[ $EUID == 0 ]] || { echo "package-in.sh: only root can make a root directory of Debian" >&2; exit 1; }
readonly RELEASE="$1" MIRROR="${BECKON_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
readonly STATE="${XDG_CACHE_HOME:-$HOME/.cache}/beckon/debian-$RELEASE"
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
mkdir -p "$STATE/root/"{source,build,out,ccache} "$STATE/ccache" "$STATE/build"
packages="$(awk '/^\[/ { build = $0 == "[build]"; next } build && NF && !/^#/ { print $1 }' "$SOURCE/scripts/debian-packages.txt" | xargs)"

cat >"$STATE/root/make-package" <<'END'
set -euo pipefail
jobs="$1"
shift
if ! dpkg-query -W file "$@" >/dev/null 2>&1; then
    apt-get update -q
    apt-get install -y -q --no-install-recommends file "$@"
fi
cmake -S /source -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release
ninja -C /build ${jobs:+-j "$jobs"} beckon beckon-bench package_files
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
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive CCACHE_DIR=/ccache \
        CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime chroot "$root" bash /make-package "$@"
' build "$STATE" "$SOURCE" "$OUT" "${BECKON_BUILD_JOBS:-}" $packages >&2
ls "$OUT"/*.deb
