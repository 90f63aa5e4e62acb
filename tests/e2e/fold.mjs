// State is a fold: the stores are deleted between a stop and a start; the log alone brings back
// clients, subscriptions and pending messages, and nothing that was acknowledged.
//
//   node fold.mjs embedded|kafka
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, agent, post } from './client.mjs';

const log = process.argv[2];
const cluster = new Cluster(log);
const client = new UserAgent(cluster.websocket);
try {
    await cluster.prepare();
    await cluster.start();
    client.url = cluster.websocket;
    await client.connect();
    const endpoint = await client.register();
    for (const text of ['acked 1', 'acked 2']) assert.equal((await post(endpoint, text)).status, 201);
    await until('the acknowledged ones', () => client.bodies.length === 2);

    client.mute = true; // gets it, does not acknowledge
    assert.equal((await post(endpoint, 'unacknowledged')).status, 201);
    await until('the unacknowledged one', () => client.bodies.length === 3);
    await client.close();
    const deleted = await post(endpoint, 'deleted by its sender');
    for (const text of ['pending 1', 'pending 2']) assert.equal((await post(endpoint, text)).status, 201);
    const removal = await new Promise((resolve) => {
        import('node:https').then(({ default: https }) =>
            https
                .request(`${cluster.endpoint}/m/${deleted.id}`, { method: 'DELETE', agent }, (response) => {
                    response.resume();
                    resolve(response.statusCode);
                })
                .end(),
        );
    });
    assert.equal(removal, 204);

    await cluster.stop();
    const stores = log === 'embedded' ? ['standalone/edge', 'standalone/endpoint'] : ['edge/edge', 'endpoint/endpoint'];
    for (const store of stores) {
        const directory = join(cluster.directory, store);
        assert(existsSync(directory), `${directory} is not where the store is`);
        rmSync(directory, { recursive: true });
    }
    await cluster.start();

    client.mute = false;
    client.bodies = [];
    await client.connect();
    await until('the pending ones', () => client.bodies.length >= 3);
    assert.deepEqual(client.bodies.sort(), ['pending 1', 'pending 2', 'unacknowledged']);
    assert.deepEqual(client.faults, []);
    assert.equal((await post(endpoint, 'after the rebuild')).status, 201);
    await until('a message after the rebuild', () => client.bodies.includes('after the rebuild'));
    await client.close();

    // Everything is acknowledged now: a second rebuild brings nothing back.
    await cluster.stop();
    for (const store of stores) rmSync(join(cluster.directory, store), { recursive: true });
    await cluster.start();
    client.bodies = [];
    await client.connect();
    assert.equal((await post(endpoint, 'last')).status, 201);
    await until('the last message', () => client.bodies.includes('last'));
    assert.deepEqual(client.bodies, ['last']);
    await client.close();
    await cluster.stop();
    console.log('OK');
} catch (error) {
    console.error(error);
    console.error(cluster.outputs());
    process.exitCode = 1;
} finally {
    client.wanted = false;
    agent.destroy();
    await cluster.destroy();
    setTimeout(() => process.exit(), 500).unref();
}
