// The operator's tools on the command line: the life of a message, records, the state of a client, the cluster, and
// faults; beside a standalone that holds its log, or on Kafka.
//
//   node tools.mjs embedded|kafka
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, until } from './beckon.mjs';
import { agent as connections, call, post, startWithClient } from './client.mjs';

const log = process.argv[2] ?? process.env.LOG ?? 'embedded';
const cluster = new Cluster(log);
let agent;
before(async () => {
    ({ client: agent } = await startWithClient(cluster));
});
after(async () => {
    agent?.end();
    await cluster.destroy();
});

/** Options with which a tool finds the log. */
function where() {
    if (log === 'kafka') return cluster.kafkaOptions();
    return ['--data', join(cluster.directory, 'standalone'), '--ops-port', String(cluster.ports.ops)];
}

/** Runs a tool to its end. */
function beckon(...args) {
    return new Promise((resolve) => {
        const child = spawn(BECKON, args);
        const result = { out: '', err: '' };
        child.stdout.on('data', (data) => (result.out += data));
        child.stderr.on('data', (data) => (result.err += data));
        child.on('exit', (code) => resolve({ ...result, code }));
    });
}
async function json(...args) {
    const { out, err, code } = await beckon(...args);
    assert.equal(code, 0, err + out);
    return JSON.parse(out);
}
/** DELETE of a message; the status. */
function remove(url) {
    return new Promise((resolve) => {
        https.request(url, { method: 'DELETE', agent: connections }, (reply) => resolve(reply.resume().statusCode)).end();
    });
}
const lines = (text) => text.trim().split('\n').filter(Boolean).map((line) => JSON.parse(line));
const trace = (id) => json('trace', id, '--json', ...where());

test('a trace shows the life of a message that was delivered', async () => {
    const { headers } = await post(agent.endpoint, 'hello', { Urgency: 'high', TTL: '60' });
    const life = await until('its end', async () => {
        const found = await trace(headers.location);
        return found.outcome === 'finished' && found;
    });
    assert.equal(life.verdict, 'The client acknowledged it.');
    const steps = life.steps.filter((step) => step.topic === 'notifications').map((step) => step.what);
    assert.deepEqual(steps.filter((what) => what !== 'home'), ['accepted', 'finished']);
    assert.match(life.steps.find((step) => step.what === 'accepted').why, /5 bytes, TTL 60 s, urgency high/);
    assert(life.steps.some((step) => step.why.includes('registered the channel')));
    const text = (await beckon('trace', headers.location, ...where())).out;
    assert.match(text, /^message=\w{32} client=\w{12}\nThe client acknowledged it\.\naccepted  .*\nfinished  .*\n\n/);
    assert.match(text, /registered the channel/);
    assert.equal((await beckon('message', headers.location, ...where())).out, text, 'one command with two names');
});

test('a trace says that a message waits, was replaced, or was deleted', async () => {
    await agent.close();
    const first = await post(agent.endpoint, 'one', { Topic: 'news' });
    assert.equal((await trace(first.id)).outcome, 'waiting');
    const second = await post(agent.endpoint, 'two', { Topic: 'news' });
    const replaced = await until('its end', async () => {
        const found = await trace(first.id);
        return found.outcome === 'finished' && found;
    });
    assert.equal(replaced.verdict, 'A newer message of the same Topic took its place.');
    assert(replaced.steps.some((step) => step.what === 'newer'));
    assert.equal(await remove(second.headers.location), 204);
    assert.match((await trace(second.id)).verdict, /^Its sender deleted it/);
});

test('the present state of a message: that it waits, since when it is on its way, how it ended', async () => {
    // One edge runs, so it is the home of every client; on Kafka it has an ops port of its own.
    const ops = log === 'kafka' ? ['--ops-port', String(cluster.ports.opsEdge)] : [];
    const message = async (id) => {
        const { out, err, code } = await beckon('message', id, ...where(), ...ops);
        assert.equal(code, 0, err + out);
        return out;
    };
    const time = '\\d{4}-\\d\\d-\\d\\dT[0-9:.]+Z';
    const names = 'message=\\w{32} client=\\w{12}';
    const shows = (id, words) => until(words, async () => new RegExp(`^${names}\n${words}\n\n`).test(await message(id)), 60000);
    agent.mute = true;
    agent.end();
    const { id } = await post(agent.endpoint, 'now');
    await shows(id, `It waits: .*\naccepted  ${time}\nsent      not since this edge became the client's home: the client is not connected`);
    await agent.connect();
    await shows(id, `It waits: .*\naccepted  ${time}\nsent      ${time}, and the client has not answered yet`);
    agent.end();
    await shows(id, `It waits: .*\naccepted  ${time}\nsent      ${time}, on an earlier connection of the client, which ended without an answer`);
    agent.mute = false;
    await agent.connect();
    await shows(id, `The client acknowledged it\\.\naccepted  ${time}\nfinished  ${time}`);
    const url = await beckon('message', agent.endpoint, ...where());
    assert.match(url.out, /^client=\w{12} channel=[0-9a-f-]{36}\nThat is an endpoint URL\..* beckon subscriptions show URL\nNo POST to it is known that was refused/);
    await agent.close();
});

test('a POST that was refused is found by its endpoint URL, with the sentence that its sender got', async () => {
    const refused = await call('POST', agent.endpoint, { 'Content-Encoding': 'aes128gcm' }, 'x'); // no TTL
    assert.equal(refused.status, 400);
    const { message } = JSON.parse(refused.body);
    const text = await until('the refused POST', async () => {
        const { out } = await beckon('message', agent.endpoint, ...where());
        return out.includes('400 bad_ttl') && out;
    }, 60000);
    assert.ok(text.includes(`400 bad_ttl: ${message}`), text);
    const shown = await json('subscriptions', 'show', agent.endpoint, '--json', ...where());
    assert.deepEqual(shown.refused.map(({ status, problem, count, message: sentence }) => [status, problem, count, sentence]), [[400, 'bad_ttl', 1, message]]);
});

test('a message of another installation is distinguished from one that the log does not have', async () => {
    const wrong = await beckon('trace', 'no message!', ...where());
    assert.equal(wrong.code, 1);
    assert.match(wrong.err, /not a message of this installation/);
    const unknown = await beckon('trace', 'no-such-reliability-id', ...where());
    assert.equal(unknown.code, 3, unknown.err);
});

test('replay shows the records of one client, channel or message', async () => {
    await agent.connect();
    const channel = randomUUID();
    const endpoint = await agent.register(channel);
    const { id } = await post(endpoint, 'for replay');
    const show = async (...args) => {
        const { out, err, code } = await beckon('replay', 'show', ...args, ...where());
        return { records: lines(out), counts: JSON.parse(err.trim().split('\n').at(-1)), code }; // the log may say something too
    };
    await until('its tombstone', async () => (await show('--message', id)).records.length === 2);
    const both = (await show('--message', id, '--values')).records;
    assert.equal(Buffer.from(both[0].value, 'base64url').toString(), 'for replay');
    assert.equal(both[0].headers.ce_subject, channel);
    assert.equal(both[1].bytes, null);
    assert.equal(both[1].headers.ce_reason, 'acked');
    const ofChannel = await show('--channel', channel);
    assert.deepEqual(ofChannel.records.map((record) => record.topic), ['subscriptions', 'notifications', 'notifications']);
    assert.deepEqual(ofChannel.records.slice(1).map((record) => record.offset), both.map((record) => record.offset));
    assert.equal(ofChannel.counts.shown, 3);
    assert((await show('--uaid', agent.uaid)).records.length > 2);
    const one = [`--partition=${both[0].partition}`, `--from=${both[0].offset}`, `--until=${both[0].offset + 1}`];
    assert.deepEqual((await show(...one)).records.map((record) => record.key), [both[0].key]);
    const later = await show('--message', id, '--since', `@${both[1].time + 1}`);
    assert.deepEqual([later.code, later.records], [3, []]);
    const subscribed = await show('--topic', 'subscriptions', '--endpoint', endpoint);
    assert(subscribed.records.some((record) => record.headers.ce_type === 'beckon.channel.v1'));
    assert.equal((await beckon('replay', 'show', '--since', 'tomorrow', ...where())).code, 2);
});

test('replay follows new records', async () => {
    const child = spawn(BECKON, ['replay', 'follow', '--endpoint', agent.endpoint, '--limit', '2', ...where()]);
    let out = '';
    child.stdout.on('data', (data) => (out += data));
    const code = new Promise((resolve) => child.on('exit', resolve));
    const sent = [];
    await until('two records', async () => {
        sent.push((await post(agent.endpoint, 'followed')).id);
        return lines(out).length >= 2;
    }, 60000);
    assert.equal(await code, 0);
    assert(sent.includes(lines(out)[0].headers.ce_id));
});

test('the state of a client can be seen as it was', async () => {
    await agent.close();
    const before = Date.now() + 50;
    await until('a later moment', () => Date.now() > before);
    const { id } = await post(agent.endpoint, 'waits');
    const state = (...at) => json('replay', 'state', '--json', '--uaid', agent.uaid, ...at, ...where());
    const now = await until('it waits', async () => {
        const found = await state();
        return found.waiting.length > 0 && found;
    });
    assert.equal(now.channels.length, 2);
    assert.equal((await trace(id)).message, now.waiting.at(-1).message);
    const then = await state('--at', `@${before}`);
    assert(!then.waiting.some((message) => message.message === now.waiting.at(-1).message));
    assert.equal((await beckon('replay', 'state', '--at', `@${before}`, ...where())).code, 2, 'whose state?');
    const text = await beckon('replay', 'state', '--at', 'now', '--uaid', agent.uaid, ...where());
    assert.match(text.out, /It has 2 channels:/);
    // (on Kafka a tool names the edge, where it is not the process that its other options name)
    const server = ['--server', `127.0.0.1:${log === 'kafka' ? cluster.ports.opsEdge : cluster.ports.ops}`];
    const shown = await beckon('subscriptions', 'show', agent.endpoint, ...where(), ...server);
    assert.equal(shown.code, 0, shown.err);
    assert.match(shown.out, /It is not connected now\.\n/);
    assert.match(shown.out, /It has 2 channels:/);
    assert.match(shown.out, new RegExp(`message ${now.waiting.at(-1).message} for channel`));
    assert.equal((await beckon('subscriptions', 'show', '00000000000000000000000000000000', ...where())).code, 3);
    await agent.connect();
    await until('its ack', async () => (await state()).waiting.length === 0);
    const { connection } = await json('subscriptions', 'show', agent.endpoint, '--json', ...where(), ...server);
    assert.equal(connection.connected, true);
    assert(Math.abs(connection.attached_since - Date.now()) < 60000);
    await agent.close();
});

test('the cluster is shown', async () => {
    const shown = await until('a node with clients', async () => {
        const [found] = (await json('cluster', '--json', ...where())).roles;
        return found.partitions.length === 4 && found.partitions.every((one) => one.lag !== null) && found;
    });
    assert.equal(shown.nodes.length, 1);
    assert.equal(shown.nodes[0].homes, 4);
    assert(shown.partitions.every((one) => one.home === shown.nodes[0].id && one.state === 'serving' && one.epoch > 0));
    const table = (await beckon('cluster', ...where())).out;
    assert.match(table, /^NODE .*CLIENTS.*\n\w{16} .*controller\n\nPARTITION .*\n0 /);
});

test('the doctor finds no fault, and names those that there are', async () => {
    const role = log === 'kafka' ? 'endpoint' : 'standalone';
    const healthy = ['--data', join(cluster.directory, role), '--ops-port', String(cluster.ports.ops), '--role', role,
        ...(log === 'kafka' ? cluster.kafkaOptions() : ['--partitions', '4']), '--endpoint-url', cluster.endpoint];
    const findings = async (...args) => {
        const { out, err, code } = await beckon('doctor', '--json', ...args);
        assert.equal(err, '');
        return { code, of: (what) => JSON.parse(out).filter((finding) => finding.what === what), all: JSON.parse(out) };
    };
    const well = await findings(...healthy);
    const bad = well.all.filter((finding) => finding.verdict === 'BAD').map((finding) => finding.what);
    assert.deepEqual(bad, ['public URL'], 'its certificate is self-made, so nobody trusts it');
    for (const what of ['key ring', 'data directory', 'process', 'log', 'key ring of the log']) {
        assert.equal(well.of(what)[0]?.verdict, 'ok', `${what}: ${JSON.stringify(well.of(what))}`);
    }
    assert.equal(well.code, 1);
    const ring = join(cluster.directory, 'another.json');
    await cluster.tool(['keys', 'generate', '--key-ring', ring]);
    const mixed = await findings(...healthy, '--key-ring', ring);
    assert.equal(mixed.code, 1);
    assert(mixed.all.some((finding) => finding.what.includes('log') && finding.verdict === 'BAD'));
});

test('the store of an edge agrees with its log, while it runs and messages come, and when it is stopped', async () => {
    const role = log === 'kafka' ? 'edge' : 'standalone';
    const of = (ops) => [...(log === 'kafka' ? cluster.kafkaOptions() : []), '--data', join(cluster.directory, role), '--ops-port', String(ops)];
    const verify = async () => {
        const { out, err, code } = await beckon('replay', 'verify', '--partitions', '4', ...of(log === 'kafka' ? cluster.ports.opsEdge : cluster.ports.ops));
        assert.equal(code, 0, err + out);
        assert.deepEqual(lines(out).map((one) => [one.partition, one.agree]), [0, 1, 2, 3].map((p) => [p, true]), out);
    };
    await agent.connect();
    let posting = true;
    const posted = (async () => {
        while (posting) assert.equal((await post(agent.endpoint, 'meanwhile')).status, 201);
    })();
    for (let i = 0; i < 3; ++i) await verify();
    posting = false;
    await posted;
    const copies = join(cluster.directory, role, 'edge-copies');
    assert.deepEqual(readdirSync(copies), [], 'a tool removes the copy that was made for it');
    const elsewhere = await beckon('replay', 'verify', ...of(1));
    assert.equal(elsewhere.code, 1);
    assert.match(elsewhere.err, /no Beckon answers at its ops port/);
    await cluster.children.get(role).stop();
    await verify();
});
