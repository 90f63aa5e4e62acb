// Draws the dashboards of packaging/grafana from a Prometheus, to be looked at: the panels where the board has them, with the
// board's own queries, units and thresholds, by uPlot in Chromium. It is not Grafana: what it shows is whether a board reads well.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';

const UPLOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'src', 'console', 'app', 'vendor');
const WIDTH = 1600;
const ROW = 38; // pixels of a row of a board's grid
const GAP = 8;

/** The series of a panel over the last `seconds`: one list of times, and a list of values for each series. */
async function seriesOf(origin, targets, seconds) {
    const end = Math.floor(Date.now() / 1000);
    const times = Array.from({ length: seconds + 1 }, (_, i) => end - seconds + i);
    const found = [];
    for (const { expr, legendFormat } of targets) {
        const query = expr.replaceAll(/\$\w+/g, '.*');
        const parameters = new URLSearchParams({ query, start: end - seconds, end, step: 1 });
        const { status, data, error } = await (await fetch(`${origin}/api/v1/query_range?${parameters}`)).json();
        if (status !== 'success') throw new Error(`${query}: ${error}`);
        for (const { metric, values } of data.result) {
            const at = new Map(values.map(([time, value]) => [time, Number(value)]));
            const name = legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label) => metric[label] ?? '');
            found.push({ name, values: times.map((time) => (Number.isFinite(at.get(time)) ? at.get(time) : null)) });
        }
    }
    return { times, series: found };
}

/** Runs in the page: draws all panels. */
function draw(panels) {
    const UNITS = { s: 's', reqps: '/s', cps: '/s', short: '', percentunit: '%', bytes: 'B' };
    const text = (value, unit) => {
        if (value === null || value === undefined) return 'no value';
        if (unit === 'percentunit') return `${(value * 100).toFixed(1)} %`;
        if (unit === 's' && Math.abs(value) > 0 && Math.abs(value) < 1) return `${(value * 1000).toFixed(1)} ms`;
        const [much, sign] = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([least]) => Math.abs(value) >= least) ?? [1, ''];
        return `${Number((value / much).toPrecision(3))} ${sign}${UNITS[unit] ?? unit}`;
    };
    /** The width of an axis: its ticks, and the widest of their labels. */
    const roomOf = (plot, labels, axis) => {
        const { font, gap, ticks } = plot.axes[axis];
        plot.ctx.font = font[0]; // (in pixels of the canvas)
        const widest = Math.max(0, ...(labels ?? []).map((label) => plot.ctx.measureText(label).width / devicePixelRatio));
        return Math.ceil(ticks.size + gap + widest) + 2;
    };
    const colors = ['#3366cc', '#dc6900', '#109618', '#990099', '#0099c6', '#dd4477', '#66aa00', '#b82e2e', '#316395', '#994499'];
    for (const { title, about, type, unit, thresholds, box, times, series } of panels) {
        const frame = document.createElement('section');
        frame.style.cssText = `left:${box.x}px;top:${box.y}px;width:${box.w}px;height:${box.h}px`;
        frame.innerHTML = `<h2></h2><p></p><div></div>`;
        frame.children[0].textContent = title;
        frame.children[1].textContent = about;
        document.body.append(frame);
        if (type === 'stat') {
            const last = series.flatMap(({ values }) => values.filter((value) => value !== null).slice(-1))[0];
            const step = (thresholds?.steps ?? []).filter(({ value }) => value === null || (last !== undefined && last >= value)).pop();
            frame.style.background = { green: '#e2f2e2', orange: '#ffe3c2', red: '#ffd0d0' }[step?.color] ?? '#fff';
            frame.children[2].className = 'stat';
            frame.children[2].textContent = text(last, unit);
            continue;
        }
        const lines = (thresholds?.steps ?? []).filter(({ value }) => value !== null);
        const options = {
            width: box.w - 12, height: box.h - 92, legend: { show: true, live: false }, cursor: { show: false },
            axes: [{ size: 28 }, { size: roomOf, values: (_, ticks) => ticks.map((tick) => text(tick, unit)) }],
            scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high ?? 0) <= 0 ? 1 : high * 1.1] } },
            series: [{}, ...series.map(({ name }, i) => ({ label: name, stroke: colors[i % colors.length], width: 1.5, spanGaps: true }))],
            hooks: { draw: [(plot) => lines.forEach(({ value }) => {
                const y = plot.valToPos(value, 'y', true);
                if (y < plot.bbox.top) return;
                Object.assign(plot.ctx, { strokeStyle: '#c00', lineWidth: 1 });
                plot.ctx.setLineDash([6, 4]);
                plot.ctx.beginPath();
                plot.ctx.moveTo(plot.bbox.left, y);
                plot.ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
                plot.ctx.stroke();
                plot.ctx.setLineDash([]);
            })] },
        };
        new globalThis.uPlot(options, [times, ...series.map(({ values }) => values)], frame.children[2]);
    }
}

/** Writes a picture of each board into `directory`; the paths. */
export async function drawBoards(origin, boards, directory, seconds = 60) {
    mkdirSync(directory, { recursive: true });
    const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-gpu'], protocolTimeout: 120000 });
    const written = [];
    try {
        for (const { uid, title, panels } of boards) {
            const drawn = [];
            for (const { title: name, description, type, targets, gridPos, fieldConfig: { defaults } } of panels) {
                const box = { x: (gridPos.x * WIDTH) / 24 + GAP, y: gridPos.y * ROW + 48, w: (gridPos.w * WIDTH) / 24 - GAP, h: gridPos.h * ROW - GAP };
                drawn.push({ title: name, about: description, type, unit: defaults.unit, thresholds: defaults.thresholds, box, ...(await seriesOf(origin, targets, seconds)) });
            }
            const page = await browser.newPage();
            const height = Math.ceil(Math.max(...drawn.map(({ box }) => box.y + box.h)) + 20);
            await page.setViewport({ width: WIDTH + 2 * GAP, height });
            await page.setContent(`<!doctype html><style>${readFileSync(join(UPLOT, 'uplot.css'), 'utf8')}
                body { font: 13px sans-serif; margin: 0; background: #f4f5f5 } h1 { font-size: 20px; margin: 12px }
                section { position: absolute; background: #fff; border: 1px solid #ddd; box-sizing: border-box; padding: 4px 6px; overflow: hidden }
                h2 { font-size: 14px; margin: 0 } p { font-size: 11px; color: #666; margin: 1px 0 2px; white-space: nowrap; overflow: hidden; text-overflow: ellipsis }
                .stat { font-size: 34px; text-align: center; padding-top: 16px } .u-legend { font-size: 11px; max-height: 32px; overflow: hidden }
                </style><h1></h1>`);
            await page.addScriptTag({ path: join(UPLOT, 'uplot.js') });
            await page.evaluate((text) => (document.querySelector('h1').textContent = text), title);
            await page.evaluate(draw, drawn);
            const path = join(directory, `${uid}.png`);
            writeFileSync(path, await page.screenshot());
            written.push({ path, uid, empty: drawn.filter(({ series }) => series.length === 0).map(({ title: name }) => name) });
            await page.close();
        }
    } finally {
        await browser.close();
    }
    return written;
}
