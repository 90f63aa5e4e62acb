// Upgrade and rollback, as docs/operations/data.md promises them: this build meets data of a newer or an older build, and
// damaged files. Debian's ldb writes the other version into the stores and the log between a stop and a start.
//
//   node --test rollback.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const cluster = new Cluster('embedded', { plain: true });
const client = new UserAgent();
const data = join(cluster.directory, 'standalone');
/** The stores of a standalone, with the format that this build writes. */
const STORES = { edge: 'edge/4/monthly', endpoint: 'subscriptions/1/4', reliability: 'reliability/2/4' };

before(async () => {
    await cluster.prepare();
    client.url = cluster.websocket;
    await cluster.start();
    await client.connect();
    await client.register();
});
after(async () => {
    client.end();
    await cluster.destroy();
});

/** Runs ldb on a database that nobody has open. */
function ldb(directory, ...args) {
    const { status, stdout, stderr } = spawnSync('ldb', [`--db=${join(data, directory)}`, ...args], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
    return stdout.trim();
}
const versioned = (format, more) => format.replace(/\/(\d+)/, (_, version) => `/${Number(version) + more}`);

/** Leaves a message that waits and one that was acknowledged, and stops. */
async function leaveSomething(name) {
    await post(client.endpoint, `${name} acked`);
    await until('the message', () => client.bodies.includes(`${name} acked`));
    await client.close();
    assert.equal((await post(client.endpoint, `${name} waits`)).status, 201);
    await cluster.stop();
    client.bodies = [];
}
/** After a start the waiting message comes, the acknowledged one does not, and the endpoint URL works. */
async function allIsThere(name) {
    await client.connect();
    await until('what waited', () => client.bodies.includes(`${name} waits`));
    assert.equal((await post(client.endpoint, `${name} after`)).status, 201);
    await until('a new message', () => client.bodies.includes(`${name} after`));
    assert.deepEqual(client.bodies, [`${name} waits`, `${name} after`]);
    assert.deepEqual(client.faults, []);
}

for (const [name, more] of [['newer', 1], ['older', -1]]) {
    test(`stores of ${name} builds are set aside and rebuilt from the log, and nothing is lost`, async () => {
        await leaveSomething(name);
        for (const [store, format] of Object.entries(STORES)) {
            assert.equal(ldb(store, 'get', 'format'), format);
            ldb(store, 'put', 'format', versioned(format, more));
        }
        await cluster.start();
        await allIsThere(name);
        const { output } = cluster.children.get('standalone');
        for (const store of Object.keys(STORES)) {
            assert(existsSync(join(data, `${store}.set-aside-${more > 0 ? 1 : 2}`)), `${store} was set aside\n${output}`);
        }
        assert.equal(output.match(/another format/g).length, 3, output);
    });
}

test('stores with damaged files are set aside and rebuilt from the log, and nothing is lost', async () => {
    await leaveSomething('damaged');
    for (const store of Object.keys(STORES)) {
        const manifest = readdirSync(join(data, store)).find((file) => file.startsWith('MANIFEST'));
        writeFileSync(join(data, store, manifest), 'this is no manifest');
    }
    await cluster.start();
    await allIsThere('damaged');
    const { output } = cluster.children.get('standalone');
    assert.equal(output.match(/"why":"damaged: /g)?.length, 3, output);
});

test('the log of a newer build is refused and left as it is; the backup that was made before brings all back', async () => {
    const backup = join(cluster.directory, 'backup');
    await leaveSomething('backed up');
    await cluster.start();
    await cluster.tool(['backup', backup, '--data', data, '--ops-port', String(cluster.ports.ops)]);
    await cluster.stop();
    const layout = ldb('log', 'get', 'layout');
    assert.equal(layout, '1 4');
    ldb('log', 'put', 'layout', '2 4');

    const start = spawnSync(BECKON, ['standalone', '--data', data, '--partitions', '4', '--endpoint-port', '0', '--edge-port', '0', '--ops-port', '0', '--retry-port', '0', '--console-port', '0'], { encoding: 'utf8', timeout: 60000 });
    assert.equal(start.status, 2, start.stdout + start.stderr);
    assert.match(start.stderr, /has format 2, this build reads format 1/);
    assert.equal(ldb('log', 'get', 'layout'), '2 4');

    renameSync(data, `${data}-of-the-newer`);
    renameSync(backup, data);
    await cluster.start();
    await allIsThere('backed up');
    rmSync(`${data}-of-the-newer`, { recursive: true });
});
