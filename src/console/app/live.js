// The server's present pages: by server-sent events, or by queries every few seconds where events
// fail.

const ASK_EVERY_MS = 5000;

/** @typedef {'live'|'asking'|'lost'} State */

/**
 * Follows pages of the API until the returned function is called.
 * @param {string[]} pages
 * @param {(page: string, data: any, change: boolean) => void} news  a page, or a change of the last one of that name
 * @param {(state: State) => void} onState
 * @param {() => void} loggedOut
 * @param {(page: string, why: string) => void} missing  the server has no such page at present
 */
export function follow(pages, news, onState, loggedOut, missing) {
    let ended = false;
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    let timer;
    const stream = new EventSource(`/api/live?pages=${pages.join(',')}`);
    stream.addEventListener('open', () => onState('live'));
    for (const page of pages) {
        stream.addEventListener(page, (event) => {
            onState('live');
            news(page, JSON.parse(/** @type {MessageEvent} */ (event).data), false);
        });
        stream.addEventListener(`${page}.change`, (event) => { // never the first that a stream sends
            onState('live');
            news(page, JSON.parse(/** @type {MessageEvent} */ (event).data), true);
        });
    }
    stream.addEventListener('error', () => {
        if (stream.readyState === EventSource.CLOSED) ask();
        else onState('lost');
    });

    async function ask() {
        if (ended) return;
        clearTimeout(timer);
        try {
            for (const page of pages) {
                const reply = await fetch(`/api/pages/${page}`);
                if (ended) return;
                if (reply.status === 401) return loggedOut();
                onState('asking');
                const body = await reply.json();
                if (reply.ok) news(page, body, false);
                else missing(page, body.error);
            }
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
