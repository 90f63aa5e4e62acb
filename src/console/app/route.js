// Addresses of the app: #/page/part/part?name=value. All of them can be shared.

/** @typedef {{page: string, parts: string[], query: URLSearchParams}} Route */

/** @returns {Route} */
export function routeNow() {
    const [path, query] = location.hash.replace(/^#\/?/, '').split('?');
    const [page, ...parts] = path.split('/').map((part) => {
        try {
            return decodeURIComponent(part);
        } catch {
            return part; // typed by hand
        }
    });
    return { page, parts: parts.filter((part) => part !== ''), query: new URLSearchParams(query ?? '') };
}

/**
 * @param {string[]} parts  of the path
 * @param {Record<string, string|number|null|undefined>} [query]  empty values are left out
 */
export function address(parts, query = {}) {
    const chosen = Object.entries(query).filter(([, value]) => value !== '' && value !== null && value !== undefined).map(([name, value]) => [name, String(value)]);
    const tail = chosen.length ? `?${new URLSearchParams(chosen)}` : '';
    return `#/${parts.map(encodeURIComponent).join('/')}${tail}`;
}

/** @param {string} to  an address() */
export function go(to) {
    if (location.hash === to) window.dispatchEvent(new HashChangeEvent('hashchange'));
    else location.hash = to;
}
