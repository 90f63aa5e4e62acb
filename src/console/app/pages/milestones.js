// Milestones: where tracked messages are, and how long their steps take.
import { h, head, panel, table } from '../dom.js';
import { count, milliseconds } from '../format.js';

/** @type {import('../types.js').Page} */
export const milestones = {
    name: 'milestones',
    title: 'Milestones',
    follows: 'milestones',
    missing: 'Nothing is counted yet: no message was tracked, or the role reliability has not run.',
    show(/** @type {import('../types.js').MilestonesPage} */ page) {
        const entries = Object.entries(page.counts);
        const total = Math.max(1, ...entries.map(([, value]) => value));
        const counts = entries.map(([name, value]) => h('tr', {}, h('th', { scope: 'row' }, name), h('td', { class: 'num' }, count(value)),
            h('td', { class: 'wide' }, h('meter', { min: 0, max: total, value, 'aria-label': `${name}: ${value}` }))));
        const steps = page.steps.map((step) => h('tr', {}, h('th', { scope: 'row' }, `${step.from} → ${step.to}`), h('td', { class: 'num' }, count(step.count)),
            h('td', { class: 'num' }, milliseconds(step.p50_ms)), h('td', { class: 'num' }, milliseconds(step.p99_ms)), h('td', { class: 'num' }, milliseconds(step.mean_ms))));
        const refused = page.refused.map((step) => h('tr', {}, h('th', { scope: 'row' }, `${step.from} → ${step.to}`), h('td', { class: 'num' }, count(step.count))));
        return [
            head('Milestones', h('span', { class: 'quiet' }, 'tracked messages, as the role reliability counts them')),
            panel('Where messages are', entries.length ? table([{ title: 'Milestone' }, { title: 'Messages', class: 'num' }, { title: 'Share' }], counts, 'Messages by milestone') : h('p', { class: 'quiet' }, 'None.')),
            panel('Steps of about the last day', steps.length
                ? table([{ title: 'Step' }, { title: 'Count', class: 'num' }, { title: 'p50', class: 'num' }, { title: 'p99', class: 'num' }, { title: 'Mean', class: 'num' }], steps, 'Steps between milestones')
                : h('p', { class: 'quiet' }, 'No step yet.')),
            ...(refused.length ? [panel('Steps that the diagram does not allow', table([{ title: 'Step' }, { title: 'Count', class: 'num' }], refused, 'Refused steps'))] : []),
        ];
    },
};
