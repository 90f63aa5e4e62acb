// `beckon backup` and the first start on its copy: what is refused, and what that leaves.
//
//   node --test backup.mjs
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const cluster = new Cluster('embedded', { plain: true });
const data = join(cluster.directory, 'standalone');
const place = mkdtempSync(join(tmpdir(), 'beckon-backups-'));

/** Runs to the end; its exit code and output. */
function beckon(args, options = {}, program = BECKON) {
    const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', timeout: 30000, ...options });
    return { code: status, text: stderr + stdout };
}
const backup = (target, options, program) => beckon(['backup', target, '--data', data, '--ops-port', String(cluster.ports.ops)], options, program);
function refused(target, says) {
    const { code, text } = backup(target);
    assert.notEqual(code, 0, text);
    assert.match(text, says);
}

before(async () => {
    await cluster.prepare();
    await cluster.start();
    const client = new UserAgent(cluster.websocket);
    await client.connect();
    await client.register();
    await client.close();
    assert.equal((await post(client.endpoint, 'waits')).status, 201);
    client.end();
});
after(async () => {
    await cluster.destroy();
    rmSync(place, { recursive: true, force: true });
});

test('a backup within the data directory is refused, by whatever name', () => {
    const link = join(place, 'link');
    symlinkSync(data, link);
    for (const target of [data, `${data}/`, join(data, 'copy'), `${data}/../standalone/copy`, join(link, 'copy'), join(data, 'backup')]) {
        refused(target, /is within the data directory .*: name a directory elsewhere/);
    }
    assert.ok(!existsSync(join(data, 'copy')));
});

test('what is there already stays: a directory of that name, and what a former try has left', () => {
    const target = join(place, 'taken');
    mkdirSync(target);
    refused(target, /taken exists already: name a directory for this copy/);
    const unfinished = join(place, 'again');
    mkdirSync(`${unfinished}.partial`);
    writeFileSync(join(`${unfinished}.partial`, 'mine'), 'x');
    refused(unfinished, /again\.partial exists: a backup that did not end has left it/);
    assert.equal(readFileSync(join(`${unfinished}.partial`, 'mine'), 'utf8'), 'x');
    assert.ok(!existsSync(unfinished));
    rmSync(`${unfinished}.partial`, { recursive: true });
    assert.equal(backup(unfinished).code, 0);
    assert.ok(!existsSync(`${unfinished}.partial`));
});

test('one backup of a data directory at a time', async (t) => {
    const other = spawn('flock', [data, '-c', 'echo held; read line'], { stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => other.kill());
    await new Promise((held) => other.stdout.once('data', held));
    refused(join(place, 'second'), /another backup of .*standalone is being made/);
    assert.ok(!existsSync(join(place, 'second.partial')));
    other.stdin.end('\n');
    await until('the end of the other', () => backup(join(place, 'second')).code === 0);
});

test('a backup by a user who may not read the data says whose they are', { skip: process.getuid() !== 0 }, () => {
    chmodSync(place, 0o777);
    const anybody = join(place, 'beckon'); // where everybody may run it
    copyFileSync(BECKON, anybody);
    const { code, text } = backup(join(place, 'foreign'), { uid: 65534, gid: 65534, cwd: '/' }, anybody);
    assert.notEqual(code, 0);
    assert.match(text, /belongs to the user root, and \S+, as which this runs, may not use it: run the command as that user \(runuser -u root -- beckon/);
    assert.doesNotMatch(text, /filesystem error/);
});

test('a copy is checked at its first start, and a damaged one is refused by the name of the file', async () => {
    const copy = join(place, 'copy');
    assert.equal(backup(copy).code, 0);
    const sums = spawnSync('sha256sum', ['-c', '--strict', 'CHECKSUMS'], { cwd: copy, encoding: 'utf8' });
    assert.equal(sums.status, 0, sums.stdout + sums.stderr);
    const listed = readFileSync(join(copy, 'CHECKSUMS'), 'utf8').trim().split('\n').map((line) => line.slice(66));
    assert.deepEqual(listed.sort(), [...readdirSync(join(copy, 'log')).map((file) => `log/${file}`), 'keys.json'].sort());

    const uses = (directory) => beckon(['broadcasts', 'list', '--data', directory, '--ops-port', '1']);
    for (const file of listed.filter((one) => !one.endsWith('COPY'))) {
        const damaged = join(place, 'damaged');
        cpSync(copy, damaged, { recursive: true });
        const bytes = readFileSync(join(damaged, file));
        if (bytes.length === 0) continue;
        bytes[bytes.length >> 1] ^= 1;
        writeFileSync(join(damaged, file), bytes);
        const { code, text } = uses(damaged);
        assert.equal(code, 2, text);
        assert.ok(text.includes(`the backup in ${damaged} is damaged: its file ${file} is not as it was`), text);
        rmSync(join(damaged, file));
        assert.match(uses(damaged).text, /is missing|key ring|there is no log/);
        rmSync(damaged, { recursive: true });
    }
    const good = uses(copy);
    assert.equal(good.code, 0, good.text);
    assert.match(good.text, /backup_verified/);
    assert.ok(!existsSync(join(copy, 'CHECKSUMS')));
    assert.equal(uses(copy).code, 0); // its files have changed since
});

test('a directory without data of Beckon is named as such', () => {
    const empty = join(place, 'empty');
    mkdirSync(empty);
    for (const command of [['message', 'x'], ['replay', 'state', '--uaid', '1'.repeat(32)], ['subscriptions', 'show', '1'.repeat(32)], ['broadcasts', 'token']]) {
        const { code, text } = beckon([...command, '--data', empty]);
        assert.notEqual(code, 0, text);
        assert.match(text, /there is no (data of Beckon|log) in .*empty.*--data/, command.join(' '));
        assert.doesNotMatch(text, /keys generate/);
    }
    assert.deepEqual(readdirSync(empty), []);
});

test('a backup that is copied over newer data is refused; stores of another time are set aside', async () => {
    const copy = join(place, 'earlier');
    assert.equal(backup(copy).code, 0);
    const client = new UserAgent(cluster.websocket);
    await client.connect();
    await client.register(); // the backup does not have it
    await client.close();
    await cluster.stop();
    const newer = join(place, 'newer');
    cpSync(data, newer, { recursive: true });

    cpSync(copy, data, { recursive: true });
    const { code, text } = beckon(['broadcasts', 'list', '--data', data, '--ops-port', '1']);
    assert.equal(code, 2, text);
    assert.match(text, /was copied over other data: its file log\/\S+ is not of the backup\. Remove the directory/);

    rmSync(join(data, 'log'), { recursive: true });
    cpSync(copy, data, { recursive: true });
    await cluster.start();
    const { output } = cluster.children.get('standalone');
    assert.equal(output.match(/"why":"the log is a copy of an earlier time"/g)?.length, 3, output);
    assert.equal((await post(client.endpoint, 'to nobody')).status, 410);
    await client.connect();
    assert.match(client.faults.join(), /UAID \S+ became/); // the log does not have it
    client.end();

    await cluster.stop();
    rmSync(data, { recursive: true });
    cpSync(newer, data, { recursive: true });
    await cluster.start();
});

test('damage of the log after a kill is a warning, until somebody has removed the file DAMAGED', async () => {
    const client = new UserAgent(cluster.websocket);
    await client.connect();
    await client.register();
    await client.close();
    for (let i = 0; i < 20; ++i) assert.equal((await post(client.endpoint, `message ${i} ${'x'.repeat(1000)}`)).status, 201);
    client.end();
    await cluster.children.get('standalone').kill();
    const file = readdirSync(join(data, 'log')).filter((name) => name.endsWith('.log')).sort().at(-1);
    const bytes = readFileSync(join(data, 'log', file));
    const end = bytes.findLastIndex((byte) => byte !== 0);
    bytes[end >> 1] ^= 1;
    writeFileSync(join(data, 'log', file), bytes);
    await cluster.start();
    const warning = async () => (await (await fetch(`http://127.0.0.1:${cluster.ports.ops}/ready`)).json()).warnings?.log_damaged;
    assert.match(await warning(), /[1-9]\d* writes that were on the disk are not in the write-ahead files any more/);
    assert.ok(existsSync(join(data, 'log', `${file}.damaged`)));
    assert.match(cluster.children.get('standalone').output, /log_damaged/);
    await cluster.stop();
    rmSync(join(data, 'log', 'DAMAGED'));
    await cluster.start();
    assert.equal(await warning(), undefined);
});
