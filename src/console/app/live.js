// The server's present pages: by server-sent events, or by queries every few seconds where events
// fail.

const ASK_EVERY_MS = 5000;

/** @typedef {'live'|'asking'|'lost'} State */

/**
 * Follows one page of the API until the returned function is called.
 * @param {string} page
 * @param {(data: any) => void} show
 * @param {(data: any, change: any) => any} merge  applies a change to a page
 * @param {(state: State) => void} onState
 * @param {() => void} loggedOut
 */
export function follow(page, show, merge, onState, loggedOut) {
    let ended = false;
    /** @type {any} */
    let latest = null;
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    let timer;
    const stream = new EventSource(`/api/live?pages=${page}`);
    stream.addEventListener('open', () => onState('live'));
    stream.addEventListener(page, (event) => {
        onState('live');
        show((latest = JSON.parse(/** @type {MessageEvent} */ (event).data)));
    });
    stream.addEventListener(`${page}.change`, (event) => { // never the first that a stream sends
        onState('live');
        show((latest = merge(latest, JSON.parse(/** @type {MessageEvent} */ (event).data))));
    });
    stream.addEventListener('error', () => {
        if (stream.readyState === EventSource.CLOSED) ask();
        else onState('lost');
    });

    async function ask() {
        if (ended) return;
        clearTimeout(timer);
        try {
            const reply = await fetch(`/api/pages/${page}`);
            if (ended) return;
            if (reply.status === 401) return loggedOut();
            onState('asking');
            if (reply.ok) show(await reply.json());
        } catch {
            onState('lost');
        }
        if (!ended) timer = setTimeout(ask, ASK_EVERY_MS);
    }

    return () => {
        ended = true;
        clearTimeout(timer);
        stream.close();
    };
}
