// Steps of a life as points in time, a line for each log topic. The list of steps says the same in words.
import { h, svg } from './dom.js';
import { moment } from './format.js';

const WIDTH = 1000;
const ROW = 22;
const LEFT = 130;
const EDGE = 10;

/** @param {{at: number, topic: string, what: string}[]} steps  two or more */
export function stepsLine(steps) {
    const topics = [...new Set(steps.map((step) => step.topic))];
    const first = steps[0].at;
    const span = Math.max(1, steps[steps.length - 1].at - first);
    const x = (/** @type {number} */ at) => LEFT + ((at - first) / span) * (WIDTH - LEFT - EDGE);
    const y = (/** @type {string} */ topic) => topics.indexOf(topic) * ROW + ROW / 2;
    const label = `${steps.length} steps in ${topics.length} log topics, from ${moment(first)} to ${moment(steps[steps.length - 1].at)}`;
    const lanes = svg('svg', { class: 'lanes', viewBox: `0 0 ${WIDTH} ${topics.length * ROW}`, role: 'img', 'aria-label': label },
        ...topics.flatMap((topic) => [
            svg('text', { x: 0, y: y(topic) + 4 }, topic),
            svg('line', { x1: LEFT, x2: WIDTH - EDGE, y1: y(topic), y2: y(topic) }),
        ]),
        ...steps.map((step) => svg('circle', { cx: x(step.at).toFixed(1), cy: y(step.topic), r: 5, 'data-what': step.what }, svg('title', {}, `${moment(step.at)} ${step.what}`))));
    return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Time line' }, lanes);
}
