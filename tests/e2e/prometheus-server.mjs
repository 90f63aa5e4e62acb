// A real Prometheus with the configuration and the rules of packaging/prometheus, which scrapes the processes of a test's cluster.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, freePort, until } from './beckon.mjs';

const PACKAGING = join(ROOT, 'packaging', 'prometheus');

export class Prometheus {
    /** The processes of this cluster in place of those of docker compose, and a scrape in each second. Rules are as they are shipped. */
    async start(cluster) {
        const directory = join(cluster.directory, 'prometheus');
        mkdirSync(directory);
        const ports = {
            'endpoint-1': cluster.ports.ops, 'edge-1': cluster.ports.opsEdge, retry: cluster.ports.opsRetry,
            reliability: cluster.ports.opsReliability, console: cluster.ports.opsConsole,
        };
        const targets = (names) => names.split(', ').map((name) => ports[name.replace(':9090', '')]).filter(Boolean).map((port) => `127.0.0.1:${port}`);
        const config = readFileSync(join(PACKAGING, 'prometheus.yml'), 'utf8')
            .replaceAll(/targets: \[([^\]]+)\]/g, (_, names) => `targets: [${targets(names).join(', ')}]`)
            .replaceAll(/_interval: 15s/g, '_interval: 1s');
        writeFileSync(join(directory, 'prometheus.yml'), config);
        for (const rules of ['beckon.rules.yml', 'beckon.expected.yml']) copyFileSync(join(PACKAGING, rules), join(directory, rules));
        const port = await freePort();
        this.origin = `http://127.0.0.1:${port}`;
        let errors = '';
        let ended = false;
        this.process = spawn('prometheus', [
            `--config.file=${join(directory, 'prometheus.yml')}`, `--storage.tsdb.path=${join(directory, 'data')}`,
            `--web.listen-address=127.0.0.1:${port}`,
        ], { stdio: ['ignore', 'ignore', 'pipe'] });
        this.process.stderr.on('data', (data) => (errors += data));
        this.process.once('error', (error) => { errors += error.message; ended = true; });
        this.process.once('exit', () => (ended = true));
        await until('Prometheus to be ready', async () => ended || (await fetch(`${this.origin}/-/ready`)).ok, 120000);
        assert(!ended, errors);
    }

    end() {
        this.process?.kill('SIGKILL');
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
}
