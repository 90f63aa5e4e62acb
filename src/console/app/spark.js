// Small charts as SVG.
import { h, svg } from './dom.js';

/**
 * @param {number[]} values  the newest last
 * @param {{width?: number, height?: number, bad?: boolean, label: string}} options
 */
export function spark(values, { width = 96, height = 22, bad = false, label }) {
    const top = Math.max(1, ...values);
    const step = width / Math.max(1, values.length - 1);
    const y = (/** @type {number} */ value) => (height - 2 - (value / top) * (height - 4)).toFixed(1);
    const line = values.map((value, i) => `${i ? 'L' : 'M'}${(i * step).toFixed(1)} ${y(value)}`).join('');
    return svg('svg', { class: 'spark', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label },
        values.length > 1 && svg('path', { class: 'area', d: `${line}L${width} ${height}L0 ${height}Z` }),
        values.length > 1 && svg('path', { class: bad ? 'bad' : '', d: line }));
}

/** Half the length of the stroke of a value that has no neighbours. */
const ALONE = 3;

/**
 * Times of single events, the failed ones as strokes from the bottom.
 * @param {(number|null)[]} values  null: it failed
 * @param {{width?: number, height?: number, label: string}} options
 */
export function timeline(values, { width = 600, height = 160, label }) {
    const top = Math.max(1, ...values.map((value) => value ?? 0));
    const step = width / Math.max(1, values.length - 1);
    let pen = 'M';
    let line = '';
    /** @type {SVGElement[]} */
    const strokes = [];
    values.forEach((value, i) => {
        const x = (i * step).toFixed(1);
        if (value === null) {
            strokes.push(svg('path', { class: 'miss', d: `M${x} ${height}V${height - 24}` }));
            pen = 'M';
            return;
        }
        line += `${pen}${x} ${(height - 4 - (value / top) * (height - 12)).toFixed(1)}`;
        if (pen === 'M' && (values[i + 1] ?? null) === null) line += `m-${ALONE} 0h${2 * ALONE}`;
        pen = 'L';
    });
    const grid = [0.25, 0.5, 0.75].map((part) => svg('line', { x1: 0, x2: width, y1: height * part, y2: height * part }));
    return h('div', { class: 'chart' }, svg('svg', { class: 'chart', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
        ...grid, svg('path', { d: line || 'M0 0' }), ...strokes));
}
