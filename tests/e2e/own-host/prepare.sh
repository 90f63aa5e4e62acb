#!/usr/bin/env bash
# prepare.sh DIRECTORY COMMAND …: inside of new namespaces, makes them a host and runs COMMAND.
set -euo pipefail
directory="$1"
shift
ip link set lo up
mount -t tmpfs -o mode=755 own-host "$directory"
for changed in etc var usr/local; do
    mkdir -p "$directory/up/$changed" "$directory/work/$changed"
    mount -t overlay overlay \
        -o "lowerdir=/$changed,upperdir=$directory/up/$changed,workdir=$directory/work/$changed" "/$changed"
done
cat >>/etc/hosts <<END
127.0.0.1 kafka push.example.org edge-1.internal
END
mount -t tmpfs -o mode=755 run /run
status=0
OWN_HOST="$directory" "$@" || status=$?  # not exec: the shell collects the processes that nobody waits for
exit "$status"
