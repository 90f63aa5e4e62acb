// A standalone after `kill -9`, within one boot of the kernel: the time without a process counts for the TTL of
// messages, whatever the host's clock says.
//
//   node --test killed-log.mjs
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const cluster = new Cluster('embedded', { plain: true });
const client = new UserAgent();

before(async () => {
    await cluster.prepare();
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

/** Kills the process, is without one for as long, and starts it again. */
async function killed(downMs) {
    await cluster.children.get('standalone').kill();
    await sleep(downMs);
    await cluster.start();
}

test('nothing arrives after its TTL, though the process was down', async () => {
    for (let round = 0; round < 4; ++round) {
        client.bodies = [];
        assert.equal((await post(client.endpoint, `short ${round}`, { TTL: '2' })).status, 201);
        assert.equal((await post(client.endpoint, `long ${round}`, { TTL: '600' })).status, 201);
        await killed(2400);
        await client.connect();
        await until('what lives', () => client.bodies.includes(`long ${round}`));
        await sleep(300);
        assert.deepEqual(client.bodies, [`long ${round}`]);
        await client.close();
    }
});
