// A real Prometheus with the configuration and the rules of packaging/prometheus, which scrapes the processes of a test's cluster, and a real
// Alertmanager with the alertmanager.yml from there.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { ROOT, freePort, until } from './beckon.mjs';

const PACKAGING = join(ROOT, 'packaging', 'prometheus');

/** A program of Debian's that is ready when `path` answers. */
class Program {
    async run(command, args, port, path) {
        this.origin = `http://127.0.0.1:${port}`;
        let errors = '';
        let ended = false;
        this.process = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
        this.process.stderr.on('data', (data) => (errors = (errors + data).slice(-20000)));
        this.process.once('error', (error) => { errors += error.message; ended = true; });
        this.process.once('exit', () => (ended = true));
        await until(`${command} to be ready`, async () => ended || (await fetch(this.origin + path)).ok, 120000);
        assert(!ended, errors);
    }

    end() {
        this.process?.kill('SIGKILL');
    }
}

export class Alertmanager extends Program {
    /** The alerts of each notification, by name; it begins to count anew with each start. */
    notifications = [];

    /** The receiver of its notifications is here, in place of nobody; all else is as it is shipped. */
    async start(cluster) {
        const shipped = join(PACKAGING, 'alertmanager.yml');
        execFileSync('amtool', ['check-config', shipped], { stdio: 'pipe' });
        this.notifications = [];
        this.receiver ??= http.createServer((request, response) => {
            let body = '';
            request.on('data', (data) => (body += data)).on('end', () => {
                this.notifications.push([...new Set(JSON.parse(body).alerts.map(({ labels }) => labels.alertname))].sort());
                response.writeHead(204).end();
            });
        });
        if (!this.receiver.listening) await new Promise((resolve) => this.receiver.listen(0, '127.0.0.1', resolve));
        const directory = mkdtempSync(join(cluster.directory, 'alertmanager-'));
        const url = `http://127.0.0.1:${this.receiver.address().port}/`;
        const config = join(directory, 'alertmanager.yml');
        writeFileSync(config, readFileSync(shipped, 'utf8').replace('  - name: nobody\n', `  - name: nobody\n    webhook_configs: [{url: '${url}', send_resolved: false}]\n`));
        this.port ??= await freePort();
        await this.run('prometheus-alertmanager', [
            `--config.file=${config}`, `--storage.path=${join(directory, 'data')}`, `--web.listen-address=127.0.0.1:${this.port}`, '--cluster.listen-address=',
        ], this.port, '/-/ready');
    }

    /** Loses what it knows of alerts, as a new one. */
    async startAnew(cluster) {
        this.end();
        await this.start(cluster);
    }

    /** The alerts that nothing mutes. */
    async active() {
        return (await fetch(`${this.origin}/api/v2/alerts?active=true&silenced=false&inhibited=false`)).json();
    }

    close() {
        this.end();
        this.receiver?.close();
    }
}

export class Prometheus extends Program {
    further = []; // processes that watch() adds

    /**
     * The processes of this cluster in place of those of docker compose, one of each role, and a scrape in each second. Rules are as they are
     * shipped. `past`: series that have had a value for two hours, by name; to what looks back an hour, the installation is not new.
     */
    async start(cluster, alertmanager, past = {}) {
        this.cluster = cluster;
        this.alertmanager = alertmanager;
        this.directory = mkdtempSync(join(cluster.directory, 'prometheus-'));
        copyFileSync(join(PACKAGING, 'beckon.rules.yml'), join(this.directory, 'beckon.rules.yml'));
        const expected = readFileSync(join(PACKAGING, 'beckon.expected.yml'), 'utf8');
        writeFileSync(join(this.directory, 'beckon.expected.yml'), expected.replaceAll(/vector\(\d+\)/g, 'vector(1)'));
        this.configure();
        this.remember(past);
        const port = await freePort();
        await this.run('prometheus', [
            `--config.file=${join(this.directory, 'prometheus.yml')}`, `--storage.tsdb.path=${join(this.directory, 'data')}`, `--web.listen-address=127.0.0.1:${port}`,
        ], port, '/-/ready');
    }

    remember(past) {
        if (Object.keys(past).length === 0) return;
        const now = Math.floor(Date.now() / 1000);
        const minutes = Array.from({ length: 120 }, (_, n) => now - 60 * (120 - n));
        const series = Object.entries(past).map(([name, value]) =>
            [`# TYPE ${name} gauge`, ...minutes.map((at) => `${name}{job="beckon"} ${value} ${at}`)].join('\n'));
        const file = join(this.directory, 'past');
        writeFileSync(file, `${series.join('\n')}\n# EOF\n`);
        execFileSync('promtool', ['tsdb', 'create-blocks-from', 'openmetrics', file, join(this.directory, 'data')], { stdio: 'pipe' });
    }

    /** Loses what it has scraped. */
    async startAnew() {
        this.end();
        await this.start(this.cluster, this.alertmanager);
    }

    /** Writes its configuration; a Prometheus that runs takes it over. `none`: it knows no process. */
    configure({ none = false } = {}) {
        const { ports } = this.cluster;
        const known = { 'endpoint-1': ports.ops, 'edge-1': ports.opsEdge, retry: ports.opsRetry, reliability: ports.opsReliability, console: ports.opsConsole };
        const targets = (names) => (none ? [] : names.split(', ').map((name) => known[name.replace(':9090', '')]).filter(Boolean).map((port) => `127.0.0.1:${port}`));
        let config = readFileSync(join(PACKAGING, 'prometheus.yml'), 'utf8')
            .replaceAll(/targets: \[([^\]]+)\]/g, (_, names) => `targets: [${targets(names).join(', ')}]`)
            .replaceAll(/_interval: 15s/g, '_interval: 1s');
        for (const { role, port } of this.further) config += `      - targets: [127.0.0.1:${port}]\n        labels: {role: ${role}}\n`;
        if (this.alertmanager) config += `alerting:\n  alertmanagers:\n    - static_configs:\n      - targets: [127.0.0.1:${this.alertmanager.port}]\n`;
        writeFileSync(join(this.directory, 'prometheus.yml'), config);
        this.process?.kill('SIGHUP');
    }

    /** Scrapes one more process, until the returned function is called. */
    watch(role, port) {
        const one = { role, port };
        this.further.push(one);
        this.configure();
        return () => {
            this.further = this.further.filter((other) => other !== one);
            this.configure();
        };
    }

    async ask(path, parameters = {}) {
        const reply = await fetch(`${this.origin}/api/v1/${path}?${new URLSearchParams(parameters)}`);
        const { status, data, error } = await reply.json();
        assert.equal(status, 'success', error);
        return data;
    }

    /** The alerts that fire, each with its labels. */
    async firing() {
        const { alerts } = await this.ask('alerts');
        return alerts.filter(({ state }) => state === 'firing');
    }

    /** An alert whose condition holds, and for how many seconds that must last; undefined. */
    async rule(name) {
        const { groups } = await this.ask('rules', { type: 'alert' });
        return groups.flatMap(({ rules }) => rules).find((rule) => rule.name === name);
    }
}
