// Answers of the console to the queries of the page that is shown. They end with the page.

const AGAIN_MS = 1000;
const MENDED_MS = 5000;
/** So often a query is repeated that found all places taken. */
const TRIES = 8;

/**
 * @template T
 * @typedef {{answer: T|null, problem: string, busy: boolean}} Asked
 */

/** @type {Map<string, Asked<any> & {timer?: ReturnType<typeof setTimeout>}>} */
let open = new Map();

/**
 * @param {string} path
 * @param {Asked<any> & {timer?: ReturnType<typeof setTimeout>}} one
 * @param {() => void} again
 * @param {number} everyMs  0: once
 * @param {number} tries
 */
async function load(path, one, again, everyMs, tries) {
    const mine = open;
    one.busy = true;
    let later = everyMs;
    try {
        const reply = await fetch(path);
        const body = await reply.json();
        const crowded = reply.status === 503 && body.error.startsWith('others search') && tries > 1;
        one.busy = crowded && !one.answer;
        if (crowded) later = AGAIN_MS;
        else if (reply.status === 503) later = later || MENDED_MS; // what is missing may come back
        if (reply.ok) one.answer = body;
        one.problem = reply.ok || one.busy ? '' : body.error;
    } catch {
        one.busy = false;
        one.problem = 'the console does not answer';
    }
    if (mine !== open) return;
    one.timer = undefined;
    if (later) one.timer = setTimeout(() => load(path, one, again, everyMs, one.busy ? tries - 1 : TRIES), later);
    again();
}

/**
 * The answer to a query as far as it is known; asks when it is called for the first time.
 * @param {string} path
 * @param {() => void} again  draws the page
 * @param {number} [everyMs]  how often it is asked again; 0: never
 * @returns {Asked<any>}
 */
export function asked(path, again, everyMs = 0) {
    const known = open.get(path);
    if (known) return known;
    /** @type {Asked<any>} */
    const one = { answer: null, problem: '', busy: true };
    open.set(path, one);
    load(path, one, again, everyMs, TRIES);
    return one;
}

/**
 * Asks once more, after something was changed.
 * @param {string} path  of asked()
 * @param {() => void} again
 */
export function askAnew(path, again) {
    const known = open.get(path);
    if (known && !known.timer) load(path, known, again, 0, TRIES);
}

/** Another page is shown. */
export function endAsking() {
    for (const one of open.values()) clearTimeout(one.timer);
    open = new Map();
}

/**
 * @param {string} path  @param {object} body
 * @returns {Promise<{ok: boolean, status: number, body: any}>}
 */
export async function post(path, body) {
    try {
        const reply = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
        return { ok: reply.ok, status: reply.status, body: await reply.json() };
    } catch {
        return { ok: false, status: 0, body: { error: 'the console does not answer' } };
    }
}
