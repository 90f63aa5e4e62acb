// Parts that several pages show in the same way.
import { h, svg } from './dom.js';
import { address } from './route.js';

/**
 * @param {string} to  an address
 * @param {import('./dom.js').Child} text
 * @param {string} [title]
 */
export const link = (to, text, title = '') => h('a', { href: to, title: title || null, 'data-key': to }, text);

/** @param {string} id */
export const webhookLink = (id) => h('a', { class: 'mono', href: address(['webhooks', id]), title: id, 'data-key': `webhook ${id}` }, id.slice(0, 12));

/** @param {string} topic  @param {number} partition  @param {number} offset */
export const recordLink = (topic, partition, offset) => h('a', { class: 'mono', href: address(['log', topic, String(partition), String(offset)]), title: 'the record in the log' }, `${topic}/${partition}@${offset}`);

/**
 * The address of Find for the record at a place: its message, or its client.
 * @param {string} topic  @param {number} partition  @param {number} offset  @param {boolean} client
 */
export const findAt = (topic, partition, offset, client) => address(['find', `${topic}/${partition}@${offset}${client ? '/client' : ''}`]);

/** @param {{text: string, href?: string}[]} steps  the way to this page */
export const trail = (steps) => h('div', { class: 'trail', role: 'navigation', 'aria-label': 'Way to this page' }, ...steps.flatMap((step, i) => [i ? h('span', { 'aria-hidden': 'true' }, ' / ') : null, step.href ? link(step.href, step.text) : h('span', { class: 'mono' }, step.text)]));

const WIDTH = 240;
const HEIGHT = 10;

/**
 * A bar that is a share of the whole, with a part of it in red.
 * @param {number} part  0 to 1
 * @param {number} lost  likewise; drawn behind the part
 * @param {string} label
 */
export function shareBar(part, lost, label) {
    const good = Math.min(1, Math.max(0, part)) * WIDTH;
    const bad = Math.min(1 - good / WIDTH, Math.max(0, lost)) * WIDTH;
    return svg('svg', { class: 'share', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
        svg('rect', { class: 'whole', x: 0, y: 0, width: WIDTH, height: HEIGHT }),
        good > 0 && svg('rect', { class: 'good', x: 0, y: 0, width: Math.max(good, 1), height: HEIGHT }),
        bad > 0 && svg('rect', { class: 'lost', x: good, y: 0, width: Math.max(bad, 2), height: HEIGHT }));
}

const COLUMN = 30;
const TALL = 90;

/**
 * Attempts by the hour: what was accepted, and in red above it what was not.
 * @param {{at: number, good: number, bad: number, label: string}[]} hours  without gaps, the newest last
 * @param {string} label
 */
export function hourBars(hours, label) {
    const top = Math.max(1, ...hours.map((one) => one.good + one.bad));
    const width = hours.length * COLUMN;
    const bars = hours.flatMap((one, i) => {
        const good = (one.good / top) * TALL;
        const bad = (one.bad / top) * TALL;
        const x = i * COLUMN + 4;
        return [svg('g', {}, svg('title', {}, one.label),
            svg('rect', { class: 'slot', x: i * COLUMN, y: 0, width: COLUMN, height: TALL }),
            good > 0 && svg('rect', { class: 'good', x, y: TALL - good, width: COLUMN - 8, height: good }),
            bad > 0 && svg('rect', { class: 'lost', x, y: TALL - good - bad, width: COLUMN - 8, height: bad }))];
    });
    return svg('svg', { class: 'hours', viewBox: `0 0 ${width} ${TALL}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
        ...bars, svg('line', { x1: 0, x2: width, y1: TALL, y2: TALL }));
}

/** @param {string} outcome  @param {number} [status] */
export function outcomeWord(outcome, status) {
    return h('span', { class: outcome === 'delivered' ? null : 'warn' }, outcome.replaceAll('_', ' ') + (status ? ` (${status})` : ''));
}

/**
 * JSON or other text of others, as it is.
 * @param {string} text
 * @param {string} label
 */
export const pre = (text, label) => h('pre', { class: 'raw', tabindex: '0', 'aria-label': label, role: 'region' }, text);

/** @type {Record<string, string>} */
const DISABLED = { failing: 'its receiver failed for too long', gone: 'its receiver answered 410' };

/** @param {string} reason  of a webhook that is disabled */
export const whyDisabled = (reason) => DISABLED[reason] ?? reason;

/**
 * No broker answers the console: it does not know which processes live.
 * @param {import('./types.js').StatusPage|null|undefined} status
 */
export const logIsSilent = (status) => (status?.findings ?? []).some((one) => one.section === 'the-brokers-do-not-answer');
