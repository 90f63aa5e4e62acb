// A test that runs what documents say needs a host of its own: default ports, /etc, /var/lib and /usr/local.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
/** ctest's SKIP_RETURN_CODE. */
export const SKIPPED = 77;

/**
 * Runs the script that calls it again with a network (loopback only), processes, and copies of /etc, /var and
 * /usr/local of its own; what it changes there ends with it. Returns the directory of that host, where the test
 * may keep things, in the second run only.
 */
export function enterOwnHost() {
    if (process.env.OWN_HOST) return process.env.OWN_HOST;
    const own = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
    if (process.getuid() !== 0) own.unshift('--user', '--map-root-user');
    if (spawnSync('unshare', [...own, 'true']).status !== 0) {
        console.log('skipped: this host allows no namespaces (unshare)');
        process.exit(SKIPPED);
    }
    const directory = mkdtempSync(join(tmpdir(), 'beckon-own-host-'));
    const { status } = spawnSync('unshare', [...own, join(HERE, 'prepare.sh'), directory, process.execPath, ...process.execArgv, ...process.argv.slice(1)], {
        stdio: 'inherit',
    });
    rmdirSync(directory);
    process.exit(status ?? 1);
}
