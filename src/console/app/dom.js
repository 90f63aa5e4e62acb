// Elements without templates: text is always text, never markup.

/** @typedef {Node|string|number|null|undefined|false} Child */

/**
 * @param {string} tag  of HTML
 * @param {Record<string, unknown>} [attributes]  `on…` functions are listeners; null and false are left out
 * @param {Child[]} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === 'function') element.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
        else if (value !== null && value !== false && value !== undefined) element.setAttribute(name, value === true ? '' : String(value));
    }
    element.append(...kept(children));
    return element;
}

/**
 * @param {string} tag  of SVG
 * @param {Record<string, string|number>} attributes
 * @param {Child[]} children
 */
export function svg(tag, attributes = {}, ...children) {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
    element.append(...kept(children));
    return element;
}

/** @param {Child[]} children */
function kept(children) {
    return children.filter((child) => child !== null && child !== undefined && child !== false).map((child) => (typeof child === 'object' ? /** @type {Node} */ (child) : inOrder(String(child))));
}

/**
 * Names the characters that turn round what stands behind them: others have written many of the texts.
 * @param {string} text
 */
function inOrder(text) {
    return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`);
}

/**
 * Replaces an element's children, and keeps the focus where a new element has the same `data-key`.
 * @param {HTMLElement} parent
 * @param {Node[] | (() => Node[])} children  made by a function, they may take elements of before with them
 */
export function replace(parent, children) {
    const active = document.activeElement;
    const key = active instanceof HTMLElement && parent.contains(active) ? active.dataset.key : undefined;
    parent.replaceChildren(...(typeof children === 'function' ? children() : children));
    if (key === undefined) return;
    const again = parent.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}

/**
 * @param {{title: string, class?: string, optional?: boolean}[]} columns
 * @param {Node[]} rows
 * @param {string} caption  for screen readers
 * @param {string} [empty]  what stands in its place while there are no rows
 */
export function table(columns, rows, caption, empty) {
    if (!rows.length && empty) return h('p', { class: 'quiet' }, empty);
    const head = columns.map((column) => h('th', { scope: 'col', class: `${column.class ?? ''}${column.optional ? ' optional' : ''}` || null }, column.title));
    return h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': caption },
        h('table', { 'aria-label': caption }, h('thead', {}, h('tr', {}, ...head)), h('tbody', {}, ...rows)));
}

/**
 * A table whose rows are cards on a narrow screen, each cell with the title of its column. The roles say there too what a cell is: a browser forgets it
 * where it shows no table.
 * @param {{title: string, class?: string, optional?: boolean}[]} columns
 * @param {HTMLElement[]} rows
 * @param {string} caption  for screen readers
 * @param {string} [empty]  what stands in its place while there are no rows
 */
export function cardTable(columns, rows, caption, empty) {
    for (const row of rows) {
        [...row.children].forEach((cell, i) => cell.setAttribute('data-title', columns[i].title));
    }
    const made = table(columns, rows, caption, empty);
    made.querySelector('table')?.setAttribute('class', 'cards');
    const roles = { table: 'table', 'thead, tbody': 'rowgroup', tr: 'row', 'thead th': 'columnheader', 'tbody th': 'rowheader', td: 'cell' };
    for (const [which, role] of Object.entries(roles)) made.querySelectorAll(which).forEach((one) => one.setAttribute('role', role));
    return made;
}

/** @param {string} word */
export function word(word, title = '') {
    return h('span', { class: 'word', 'data-word': word, title: title || null }, word);
}

/** @param {[string, Child, Child?][]} tiles  name, value, remark */
export function tiles(...tiles) {
    return h('dl', { class: 'tiles' }, ...tiles.map(([name, value, remark]) => h('div', { class: 'tile' }, h('dt', {}, name), h('dd', {}, value, remark ? h('small', {}, remark) : null))));
}

/** @param {string} title  @param {Child[]} more */
export function head(title, ...more) {
    return h('div', { class: 'head' }, h('h1', {}, title), ...more);
}

/**
 * Without left-out items.
 * @param {(HTMLElement|null)[]} parts
 * @returns {HTMLElement[]}
 */
export function only(parts) {
    return parts.flatMap((part) => (part === null ? [] : [part]));
}

/** @param {[string, Child][]} facts  name and value */
export function factList(facts) {
    return h('dl', { class: 'facts' }, ...facts.flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));
}

/**
 * In place of an answer that is not there: why there is none, or what it waits for.
 * @param {string} problem
 * @param {string} waiting
 */
export function unanswered(problem, waiting) {
    return h('p', { class: problem ? 'notice' : 'quiet', role: 'status' }, problem || waiting);
}

/** @param {string} title  @param {Child[]} children */
export function panel(title, ...children) {
    return h('section', { class: 'panel' }, h('div', { class: 'head' }, h('h2', {}, title)), ...children);
}
