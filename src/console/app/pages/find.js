// Find: the meaning of an id or a URL, its life across the log topics, and its client at any time
// of the history window.
import { h, head, panel, word } from '../dom.js';
import { moment } from '../format.js';
import { stepsLine } from '../timeline.js';
import { clientAt } from './client_at.js';

/** @typedef {import('../types.js').Found} Found */

let asked = '';
/** @type {Found|null} */
let found = null;
let problem = '';
let busy = false;
/** @type {HTMLElement[]} */
let life = [];

/** @param {() => void} again */
async function ask(again) {
    busy = true;
    again();
    try {
        const reply = await fetch(`/api/find?q=${encodeURIComponent(asked)}`);
        const answer = await reply.json();
        found = reply.ok ? answer : null;
        problem = reply.ok ? '' : answer.error;
    } catch {
        found = null;
        problem = 'the console does not answer';
    }
    busy = false;
    life = found ? parts(found) : []; // made once: the slider stays the same element
    again();
}

/** @param {string} kind */
const article = (kind) => (/^[aeio]/.test(kind) ? 'an' : 'a');

/** @param {import('../types.js').Step} step */
function stepItem(step) {
    return h('li', { 'data-topic': step.topic },
        h('div', { class: 'when' }, h('time', { datetime: step.time }, moment(step.at)),
            h('span', { class: 'mono quiet' }, `${step.topic}/${step.partition}${step.offset === null ? '' : `@${step.offset}`}`)),
        h('div', {}, word(step.what), ' ', h('span', {}, step.why)));
}

/** @param {Found} answer */
function timeLine(answer) {
    if (!answer.trace) return panel('Time line', h('p', { class: 'warn' }, `The log was not read: ${answer.problem}.`));
    const { steps, verdict, cut } = answer.trace;
    return panel('Time line',
        verdict ? h('p', { class: 'verdict' }, verdict) : null,
        steps.length > 1 ? stepsLine(steps) : null,
        cut ? h('p', { class: 'quiet' }, 'There are more steps than these: the oldest are left out.') : null,
        steps.length ? h('ol', { class: 'steps', 'aria-label': 'Steps in order of time' }, ...steps.map(stepItem))
            : h('p', { class: 'quiet' }, 'The log has no step of it.'));
}

/** @param {Found} answer */
function parts(answer) {
    return [
        panel(`This is ${article(answer.kind)} ${answer.kind}`,
            h('dl', { class: 'facts' }, ...answer.facts.flatMap((fact) => [h('dt', {}, fact.name), h('dd', { class: 'mono' }, fact.value)]))),
        timeLine(answer),
        clientAt(asked, answer),
    ];
}

/** @type {import('../types.js').Page} */
export const find = {
    name: 'find',
    title: 'Find',
    show(_, again) {
        const input = /** @type {HTMLInputElement} */ (h('input', { type: 'search', name: 'q', 'data-key': 'q', value: asked, required: true, autocomplete: 'off', spellcheck: 'false' }));
        const submit = (/** @type {Event} */ event) => {
            event.preventDefault();
            asked = input.value.trim();
            if (!busy) ask(again);
        };
        return [
            head('Find'),
            h('form', { class: 'find', onsubmit: submit }, h('label', { class: 'field' }, 'Message id or URL, reliability id, endpoint URL, or UAID', input), h('button', { class: 'main', 'data-key': 'go' }, 'Find')),
            h('div', { role: 'status' },
                busy ? h('p', { class: 'quiet' }, 'Reading the log …') : null,
                problem && !busy ? h('p', { class: 'notice' }, problem) : null,
                found && !busy ? h('p', { class: 'quiet' }, `Found ${article(found.kind)} ${found.kind}, ${found.trace?.steps.length ?? 0} steps.`) : null),
            ...(busy ? [] : life),
        ];
    },
};
