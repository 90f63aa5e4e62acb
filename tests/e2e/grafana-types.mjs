// The dashboards of packaging/grafana agree with Grafana's own types. Grafana itself is in no registry
// that the tests reach, so nothing here has drawn them.
//
//   node grafana-types.mjs   (ends with 77 where tsc or the package @grafana/schema is not installed)
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const DASHBOARDS = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'packaging', 'grafana', 'dashboards');
const TYPES = 'dist/types/raw/dashboard/x/dashboard_types.gen';
const SKIPPED = 77;

function skip(why) {
    console.log(`skipped: ${why}`);
    process.exit(SKIPPED);
}

function schema() {
    try {
        return dirname(createRequire(import.meta.url).resolve('@grafana/schema/package.json'));
    } catch {
        return skip('@grafana/schema is not installed');
    }
}

/** Grafana's types have enums where the file has their values. */
const ENUMS = {
    absolute: 'ThresholdsMode.Absolute',
    thresholds: 'FieldColorModeId.Thresholds',
    'palette-classic': 'FieldColorModeId.PaletteClassic',
};
const withEnums = (text) => text.replaceAll(/"mode": "([\w-]+)"/g, (same, value) => (ENUMS[value] ? `"mode": ${ENUMS[value]}` : same));

/** The errors of tsc for a program that declares each of these texts a dashboard. */
function complaints(texts) {
    const directory = mkdtempSync(join(tmpdir(), 'beckon-dashboards-'));
    const file = join(directory, 'dashboards.ts');
    const lines = texts.map((text, i) => `export const dashboard${i}: Dashboard = ${withEnums(text)};`);
    writeFileSync(file, [`import { type Dashboard, FieldColorModeId, ThresholdsMode } from '${join(schema(), TYPES)}';`, ...lines].join('\n'));
    // Elsewhere than here, where tsc would also read the types of all installed packages, some of which are too new for it.
    const { status, stdout, error } = spawnSync('tsc', ['--noEmit', '--strict', '--skipLibCheck', '--moduleResolution', 'node', file], { encoding: 'utf8', cwd: directory });
    rmSync(directory, { recursive: true });
    if (error) skip('tsc is not installed');
    return status === 0 ? '' : stdout || `tsc ended with ${status}`;
}

const texts = readdirSync(DASHBOARDS).map((name) => readFileSync(join(DASHBOARDS, name), 'utf8'));
const found = complaints(texts);
const missed = !complaints([texts[0].replace('"gridPos": {', '"gridPos": { "unknown": 1,')]) && 'a field that Grafana does not know was not noticed';
if (found || missed || texts.length === 0) {
    console.error(found || missed || 'there are no dashboards');
    process.exit(1);
}
console.log(`${texts.length} dashboards are what @grafana/schema says`);
