// The roles on a locked broker, each as a user with exactly the rights that docs/operations/rights.md#rights-on-a-locked-kafka names for it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BECKON, ROOT, freePort, until } from './beckon.mjs';
import { UserAgent, call, post } from './client.mjs';

export const ROLES = ['endpoint', 'edge', 'retry', 'reliability', 'console'];
const OPERATIONS = join(ROOT, 'docs', 'operations', 'rights.md');

/** The commands of the page for a user, as arguments of kafka-acls. */
export function commandsFor(user) {
    const text = readFileSync(OPERATIONS, 'utf8');
    const section = text.slice(text.indexOf('## Rights on a locked Kafka'));
    const lines = section.replaceAll('\\\n', ' ').split('\n').filter((line) => line.includes('kafka-acls') && line.includes(`User:${user} `));
    assert.ok(lines.length > 0, `docs/operations/rights.md has no kafka-acls for ${user}`);
    return lines.map((line) => {
        const words = line.trim().split(/\s+/).map((word) => word.replace(/^'|'$/g, ''));
        return words.slice(words.indexOf('--add'));
    });
}

export class LockedRoles {
    /** @param {object} options as LockedCluster.lockedOptions() */
    constructor(cluster, options = {}) {
        Object.assign(this, { cluster, options });
        this.started = [];
        this.all = {};
    }

    /** A process of a role as `user`; `output` is what it has said. */
    async begin(role, user, options = this.options, more = []) {
        const { cluster } = this;
        const ports = { ops: await freePort(), main: await freePort(), link: await freePort() };
        const own = {
            endpoint: ['--endpoint-port', ports.main], edge: ['--edge-port', ports.main, '--edge-link-port', ports.link],
            retry: ['--retry-port', ports.main, '--retry-allowed-addresses', '127.0.0.1'], reliability: [], console: ['--console-port', ports.main],
        }[role].map(String);
        const child = spawn(BECKON, [
            role, '--data', join(cluster.directory, `${role}-of-${user}`), '--ops-port', String(ports.ops), '--log-format', 'json', '--test-startup-timeout', '20s',
            ...own, ...(role === 'reliability' || role === 'console' ? [] : ['--endpoint-url', `http://127.0.0.1:${role === 'endpoint' ? ports.main : cluster.ports.endpoint}`]),
            ...cluster.lockedOptions(user, options), ...more,
        ], { stdio: ['ignore', 'pipe', 'pipe'] });
        this.started.push(child);
        const one = { child, ports, output: '', ended: new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal))) };
        for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (one.output += data));
        one.lines = () => one.output.split('\n').filter(Boolean);
        one.ready = async () => (await fetch(`http://127.0.0.1:${ports.ops}/ready`)).status === 200;
        one.stop = () => (child.kill('SIGTERM'), one.ended);
        return one;
    }

    async grant() {
        await this.cluster.kafkaTools(ROLES.flatMap(commandsFor).map((args) => ['AclCommand', args]));
    }

    async start() {
        const { all, cluster } = this;
        all.endpoint = await this.begin('endpoint', 'endpoint');
        cluster.ports.endpoint = all.endpoint.ports.main;
        for (const role of ROLES.slice(1)) all[role] = await this.begin(role, role);
        for (const role of ROLES) await this.until(`${role} is ready`, () => all[role].ready(), 90000);
    }

    /** until(), which fails with what the roles have said. */
    until(what, check, limitMs) {
        return until(what, check, limitMs).catch((error) => {
            throw new Error(`${error.message}\n${Object.entries(this.all).map(([role, one]) => `${role}:\n${one.output.slice(-2500)}`).join('\n')}`);
        });
    }

    /** A push, an event and a report; no role was refused anything. Returns the URLs of a message that waits, and of its subscription. */
    async use() {
        const { all, cluster } = this;
        const client = new UserAgent(`ws://127.0.0.1:${all.edge.ports.main}/`);
        await client.connect();
        const first = await client.register();
        const { status, id, body } = await post(first, 'through the lock');
        assert.equal(status, 201, body);
        await this.until('the delivery', () => client.versions.has(id), 30000);
        client.mute = true;
        const waits = await post(first, 'waits');
        const gone = await client.register();
        const sent = await post(gone, 'deleted', { Topic: 'x' });
        assert.equal((await call('DELETE', sent.headers.location)).status, 204);
        await client.unregister([...client.waiting.keys()].at(-1).split(' ')[1]);
        await this.until('that the URL is gone', async () => (await post(gone, 'x')).status === 410, 30000);
        client.end();

        const made = spawn(BECKON, ['webhooks', 'token', 'shop', '--publish-to-all', '--key-ring', join(cluster.directory, 'keys.json')]);
        let token = '';
        for await (const data of made.stdout) token += data;
        const headers = { Authorization: `Bearer ${token.trim()}`, 'Content-Type': 'application/json' };
        const api = `http://127.0.0.1:${all.retry.ports.main}`;
        const webhook = await call('POST', `${api}/webhooks`, headers, JSON.stringify({ url: 'http://127.0.0.1:1/' }));
        assert.equal(webhook.status, 201, webhook.body);
        const event = await call('POST', `${api}/events`, { ...headers, 'Content-Type': 'application/cloudevents+json' },
            JSON.stringify({ specversion: '1.0', id: '1', source: '/x', type: 'a.b' }));
        assert.ok(event.status < 300, event.body);
        await this.until('an attempt', async () => JSON.parse((await call('GET', `${api}/attempts`, headers)).body).webhooks?.[0]?.attempts > 0, 60000);
        await this.until('the lag of all groups', async () => JSON.parse((await call('GET', `http://127.0.0.1:${all.console.ports.main}/api/pages/lag`)).body).rows.length > 3, 60000);
        const refused = Object.entries(all).map(([role, one]) => [role, [...new Set([...one.output.matchAll(/refuses \w+ on [^:]*/g)].flat())]]);
        assert.deepEqual(refused.filter(([, what]) => what.length > 0), []);
        for (const [role, one] of Object.entries(all)) assert.equal(await one.ready(), true, role);
        return { message: waits.headers.location, endpoint: first };
    }

    async stop() {
        for (const one of Object.values(this.all)) await one.stop();
    }

    kill() {
        for (const child of this.started) child.kill('SIGKILL');
    }
}
