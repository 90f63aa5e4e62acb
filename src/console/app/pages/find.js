// Find: what the installation knows of an id or a URL.
import { h, head, panel } from '../dom.js';

let asked = '';
/** @type {import('../types.js').Found|null} */
let found = null;
let problem = '';

/** @param {() => void} again */
async function ask(again) {
    const reply = await fetch(`/api/find?q=${encodeURIComponent(asked)}`);
    const told = await reply.json();
    found = reply.ok ? told : null;
    problem = reply.ok ? '' : told.error;
    again();
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
            ask(again);
        };
        return [
            head('Find'),
            h('form', { class: 'find', onsubmit: submit }, h('label', { class: 'field' }, 'Message id or URL, endpoint URL, or UAID', input), h('button', { class: 'main', 'data-key': 'go' }, 'Find')),
            h('div', { role: 'status' },
                problem ? h('p', { class: 'notice' }, problem) : null,
                found ? panel(`This is a ${found.kind}`.replace('a endpoint', 'an endpoint').replace('a UAID', 'a UAID'),
                    h('dl', { class: 'facts' }, ...found.facts.flatMap((fact) => [h('dt', {}, fact.name), h('dd', { class: 'mono' }, fact.value)]))) : null),
        ];
    },
};
