// A machine of Debian that boots with its own systemd: a root of debootstrap in systemd-nspawn, on the network of the test's host of
// its own (enter.mjs), with control groups of its own.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { until } from '../beckon.mjs';
import { must, run } from './package.mjs';

const MIRROR = process.env.BECKON_DEBIAN_MIRROR ?? 'http://deb.debian.org/debian';
const BOOT_MS = 120000;

/** Makes a control group (version 2) below the one that this process is in; its path. Null: none can be made here. */
function makeControlGroup() {
    const mounted = readFileSync('/proc/mounts', 'utf8').split('\n').map((line) => line.split(' ')).find(([, , type]) => type === 'cgroup2')?.[1];
    const own = readFileSync('/proc/self/cgroup', 'utf8').match(/^0::(.*)$/m)?.[1];
    if (!mounted || own === undefined) return null;
    try {
        return mkdtempSync(join(mounted, own, 'beckon-machine-'));
    } catch {
        return null;
    }
}

/** Why no machine can be booted here; undefined: one can. */
export function whyNoMachine() {
    if (process.getuid() !== 0) return 'only root can boot a machine';
    for (const command of ['debootstrap', 'systemd-nspawn', 'nsenter', 'unshare', 'ip']) {
        if (spawnSync('sh', ['-c', `command -v ${command}`]).status !== 0) return `${command} is not installed`;
    }
    const group = makeControlGroup();
    if (!group) return 'no control group (version 2) can be made here';
    rmdirSync(group);
    return undefined;
}

/** Makes the root `directory` of the release, which can boot, with `deb` in its /root and all that `deb` needs downloaded. Needs the mirror. */
export function makeRoot(directory, release, deb) {
    must('debootstrap', ['--variant=minbase', '--include=systemd-sysv,dbus', release, directory, MIRROR], { timeout: 600000 });
    for (const file of ['/etc/resolv.conf', '/etc/hosts']) copyFileSync(file, join(directory, file));
    writeFileSync(join(directory, 'etc/apt/apt.conf.d/90yes'), 'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n');
    copyFileSync(deb, join(directory, 'root', basename(deb)));
    const download = `cd /root; apt-get update -q && apt-get install -q --download-only ./${basename(deb)}`;
    must('chroot', [directory, 'bash', '-euc', download], { timeout: 600000, env: { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' } });
}

export class Machine {
    /** @param {string} root as makeRoot() has made it */
    constructor(root) {
        this.root = root;
        this.group = makeControlGroup();
        this.console = '';
    }

    /** Until systemd says that it runs. */
    async boot() {
        const script = `
            echo $$ > ${this.group}/cgroup.procs
            exec unshare --cgroup --mount --pid --mount-proc --fork --kill-child bash -euc '
                umount --lazy /sys/fs/cgroup
                mount -t cgroup2 cgroup2 /sys/fs/cgroup
                # (133: it asks to be booted again. Without a capability, a machine of hardware lets anybody ask for the clock.)
                status=133
                while ((status == 133)); do
                    status=0
                    systemd-nspawn --quiet --boot --register=no --keep-unit --console=pipe --resolv-conf=off --timezone=off --link-journal=no \\
                        --system-call-filter="adjtimex clock_adjtime" --directory=${this.root} || status=$?
                done'`;
        this.process = spawn('bash', ['-euc', script], { stdio: ['ignore', 'pipe', 'pipe'] });
        for (const stream of [this.process.stdout, this.process.stderr]) stream.on('data', (text) => (this.console += text));
        await this.isUp();
    }

    async isUp() {
        const state = () => this.run('systemctl', 'is-system-running').text.trim();
        await until('that the machine is up', () => (this.init = this.initOf()) && state() === 'running', BOOT_MS).catch((error) => {
            throw new Error(`${error.message}: ${this.init && state()}\n${this.console}\n${this.init && this.run('systemctl', '--failed').text}`);
        });
    }

    /** The id of its first process, as this host counts them; undefined: none runs. */
    initOf() {
        // (nspawn gives the machine a control group of its own, and systemd puts itself into init.scope there)
        const file = join(this.group, 'payload/init.scope/cgroup.procs');
        return existsSync(file) ? readFileSync(file, 'utf8').split('\n')[0] || undefined : undefined;
    }

    /** Runs a command in it, as root. */
    run(...command) {
        return run('nsenter', ['--target', this.init, '--mount', '--uts', '--ipc', '--pid', '--cgroup', '--', 'env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin',
            'HOME=/root', 'LC_ALL=C', 'SYSTEMD_PAGER=', 'SYSTEMD_COLORS=0', 'DEBIAN_FRONTEND=noninteractive', ...command]);
    }

    must(...command) {
        const { status, text } = this.run(...command);
        assert.equal(status, 0, `${command.join(' ')}\n${text}`);
        return text;
    }

    /** What systemd knows of a unit, by name. */
    show(unit) {
        return Object.fromEntries(this.must('systemctl', 'show', unit).trim().split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)));
    }

    /** What a unit has written since it was started, and what systemd says of it. */
    journal(unit) {
        return this.must('journalctl', '--output=cat', '--no-pager', `--unit=${unit}`);
    }

    /** Ends it and all that runs in it. */
    async end() {
        const ended = new Promise((resolve) => this.process.once('close', resolve));
        this.process.kill('SIGKILL');
        await ended;
        const remove = (group) => {
            for (const entry of readdirSync(group, { withFileTypes: true })) if (entry.isDirectory()) remove(join(group, entry.name));
            rmdirSync(group);
        };
        await until('that its processes are gone', () => remove(this.group) ?? true);
    }
}
