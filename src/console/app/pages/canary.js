// Canary: does push work right now, through every edge.
import { h, head, only, panel, tiles, word } from '../dom.js';
import { count, milliseconds, seconds, time } from '../format.js';
import { timeline } from '../spark.js';

/** @param {import('../types.js').CanaryEdge} edge  @param {number} every */
function edgePanel(edge, every) {
    const values = edge.pushes.map((push) => push.ms);
    const slowest = Math.max(0, ...values.map((value) => value ?? 0));
    const failed = values.filter((value) => value === null).length;
    return panel(edge.edge,
        h('div', { class: 'bar legend' }, word({ well: 'OK', failing: 'failed' }[edge.state] ?? 'starting', edge.last_failure), ...[`p50 ${milliseconds(edge.p50_ms)}`, `p99 ${milliseconds(edge.p99_ms)}`, `${count(edge.sent)} pushes`, `${count(edge.failed)} failed`].map((text) => h('span', {}, text))),
        timeline(values, { label: `${values.length} pushes, the slowest took ${milliseconds(slowest)}, ${failed} failed` }),
        h('div', { class: 'axis' }, h('span', {}, values.length > 1 ? `${seconds((values.length - 1) * every)} ago` : ''), h('span', {}, `top: ${milliseconds(slowest)}`), h('span', {}, 'now')),
        edge.last_failure ? h('p', { class: 'quiet' }, `last failure: ${edge.last_failure}`) : null);
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
            head('Canary', h('span', { class: 'quiet' }, `a push through every edge each ${seconds(page.every_seconds)}`)),
            tiles(['Push works', `${well} of ${page.edges.length}`, 'edges, at their last push'], ['Last push', last ? time(last).slice(11) : '–']),
            page.untried ? h('p', { class: 'notice' }, `${count(page.untried)} further edges are too many to be tried.`) : null,
            page.edges.length ? null : h('p', { class: 'quiet' }, 'The cluster has no edge yet.'),
            ...page.edges.map((edge) => edgePanel(edge, page.every_seconds)),
        ]);
    },
};
