// Canary: does push work right now, through every edge.
import { chart, zoneLine } from '../chart.js';
import { h, head, only, panel, tiles, word } from '../dom.js';
import { count, milliseconds, seconds, timeOfDay } from '../format.js';

/** @param {import('../types.js').CanaryEdge} edge */
function edgePanel(edge) {
    const values = edge.pushes.map((push) => push.ms);
    const slowest = Math.max(0, ...values.map((value) => value ?? 0));
    const failed = values.filter((value) => value === null).length;
    return panel(edge.edge,
        h('div', { class: 'legend' }, word({ well: 'OK', failing: 'failed' }[edge.state] ?? 'starting', edge.last_failure), ...[`p50 ${milliseconds(edge.p50_ms)}`, `p99 ${milliseconds(edge.p99_ms)}`, `${count(edge.sent)} pushes`, `${count(edge.failed)} failed`].map((text) => h('span', {}, text))),
        chart(edge.edge, {
            at: edge.pushes.map((push) => push.at),
            lines: [{ label: 'POST to frame', values }, { label: 'failed', values: values.map((value) => (value === null ? 1 : null)), colour: 'bad', marks: true }],
            show: milliseconds, label: `${values.length} pushes, the slowest took ${milliseconds(slowest)}, ${failed} failed`,
        }),
        edge.last_failure ? h('p', { class: edge.state === 'failing' ? 'warn' : 'quiet' }, `last failure: ${edge.last_failure}`) : null);
}

/** @type {import('../types.js').Page} */
export const canary = {
    name: 'canary',
    title: 'Canary',
    follows: 'canary',
    missing: 'No canary runs: name edges in console.canary, as WebSocket URLs, or ws://*:8080/ for all.',
    show(/** @type {import('../types.js').CanaryPage} */ page) {
        const well = page.edges.filter((edge) => edge.state === 'well').length;
        const last = Math.max(0, ...page.edges.flatMap((edge) => edge.pushes.map((push) => push.at)));
        return only([
            head('Canary', h('span', { class: 'quiet' }, `every ${seconds(page.every_seconds)} the console pushes a message to itself through every edge, and measures the time until it has it`)),
            tiles(['Push works', `${well} of ${page.edges.length}`, 'edges, at their last push'], ['Last push', last ? timeOfDay(last) : '–']),
            page.untried ? h('p', { class: 'notice' }, `${count(page.untried)} further edges are too many to be tried.`) : null,
            page.edges.length ? null : h('p', { class: 'quiet' }, 'The cluster has no edge yet.'),
            ...page.edges.map(edgePanel),
            page.edges.length ? zoneLine() : null,
        ]);
    },
};
