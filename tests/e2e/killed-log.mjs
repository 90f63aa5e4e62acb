// A standalone after `kill -9`, within one boot of the kernel: the time without a process counts for the TTL of
// messages, whatever the host's clock says, and no partition has a lag of records that do not exist. After a reboot
// nothing arrives after its TTL either.
//
//   node --test killed-log.mjs
//
// POWER_CUT names the library of power_cut.cpp, which gives the process another boot_id.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BECKON, Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const LOOKED_MS = 8000; // the lag was there for seconds
const LAG_MOST = 1000; // of a block of 65,536 offsets

const cluster = new Cluster('embedded', { plain: true });
const client = new UserAgent();

before(async () => {
    await cluster.prepare();
    const library = resolve(process.env.POWER_CUT ?? join(dirname(BECKON), 'tests', 'e2e', 'libpower_cut.so'));
    assert.ok(existsSync(library), `${library} is not there: ninja power_cut, or POWER_CUT names it`);
    cluster.environment = { LD_PRELOAD: library, POWER_CUT_BOOT: join(cluster.directory, 'boot_id') };
    boot();
    client.url = cluster.websocket;
    await cluster.start();
    await client.connect();
    await client.register();
    await client.close();
});
after(async () => {
    client.end();
    await cluster.destroy();
});

/** From the next start on the kernel is another boot. */
function boot() {
    writeFileSync(join(cluster.directory, 'boot_id'), `${randomUUID()}\n`);
}

/** Kills the process, is without one for as long, and starts it again. */
async function killed(downMs) {
    await cluster.children.get('standalone').kill();
    await sleep(downMs);
    await cluster.start();
}

for (const reboots of [false, true]) {
    test(`nothing arrives after its TTL, though the process was down${reboots ? ' for a reboot' : ''}`, async () => {
        for (let round = 0; round < 2; ++round) {
            client.bodies = [];
            assert.equal((await post(client.endpoint, `short ${round}`, { TTL: '2' })).status, 201);
            assert.equal((await post(client.endpoint, `long ${round}`, { TTL: '600' })).status, 201);
            if (reboots) boot();
            await killed(2400);
            await client.connect();
            await until('what lives', () => client.bodies.includes(`long ${round}`));
            await sleep(300);
            assert.deepEqual(client.bodies, [`long ${round}`]);
            await client.close();
        }
    });
}

test('a partition in which nobody writes has no lag after a kill, from the first moment on', async () => {
    const page = async () => (await fetch(`http://127.0.0.1:${cluster.ports.console}/api/pages/lag`)).json();
    const others = []; // clients of all partitions, so that each has records and a group that has read them
    for (let n = 0; n < 24; ++n) {
        const other = new UserAgent(cluster.websocket);
        await other.connect();
        await other.register();
        assert.equal((await post(other.endpoint, 'read')).status, 201);
        await until('the message', () => other.bodies.includes('read'));
        others.push(other);
    }
    for (const other of others) await other.close();
    await until('all groups to have read everything', async () => {
        const { rows } = await page();
        return rows.length >= 12 && rows.every((row) => row.lag === 0) && rows.filter((row) => row.position > 0).length >= 8;
    }, 60000);
    await killed(0);
    const seen = new Set();
    const end = Date.now() + LOOKED_MS;
    while (Date.now() < end) {
        const { rows = [] } = await page().catch(() => ({}));
        for (const row of rows) {
            seen.add(`${row.group} ${row.topic} ${row.partition}`);
            assert.ok(row.lag < LAG_MOST, JSON.stringify(row));
        }
        await sleep(50);
    }
    assert.ok(seen.size >= 12, `${seen.size} rows`);
});
