#!/usr/bin/env python3
"""supervisor.py SECONDS COMMAND ...: starts the command as systemd starts a unit with WatchdogSec=SECONDS, WatchdogSignal=SIGKILL and
Restart=always: it kills the command when no WATCHDOG=1 has come for so long, and starts it again. Prints `started PID` and `killed PID`.
SIGTERM ends both."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

WATCHDOG_S = float(sys.argv[1])


def stop(child):
    child.terminate()
    sys.exit(child.wait())


with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
    address = os.path.join(directory, "notify")
    notify.bind(address)
    notify.settimeout(0.2)
    environment = {**os.environ, "NOTIFY_SOCKET": address, "WATCHDOG_USEC": str(int(WATCHDOG_S * 1e6))}
    while True:
        child = subprocess.Popen(sys.argv[2:], env=environment)
        signal.signal(signal.SIGTERM, lambda *_: stop(child))
        print(f"started {child.pid}", flush=True)
        heard = time.monotonic()
        while child.poll() is None:
            try:
                if b"WATCHDOG=1" in notify.recv(4096).split(b"\n"):
                    heard = time.monotonic()
            except TimeoutError:
                pass
            if time.monotonic() - heard > WATCHDOG_S:
                print(f"killed {child.pid}", flush=True)
                child.kill()
                child.wait()
