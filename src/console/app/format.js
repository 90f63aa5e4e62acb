// Numbers and times for people.

const COUNT = new Intl.NumberFormat('en');

/** @param {number} value */
export const count = (value) => COUNT.format(value);

/** @param {number|null|undefined} value  in seconds */
export function seconds(value) {
    if (value === null || value === undefined) return '–';
    if (value < 10) return `${value.toFixed(1)} s`;
    if (value < 120) return `${Math.floor(value)} s`;
    if (value < 7200) return `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`;
    if (value < 172800) return `${Math.floor(value / 3600)} h ${Math.floor(value / 60) % 60} min`;
    return `${Math.floor(value / 86400)} d ${Math.floor(value / 3600) % 24} h`;
}

/** @param {number|null|undefined} value */
export function milliseconds(value) {
    if (value === null || value === undefined) return '–';
    if (value < 10) return `${value.toFixed(1)} ms`;
    return value < 10000 ? `${Math.round(value)} ms` : seconds(value / 1000);
}

/** @param {number} value  per second */
export function rate(value) {
    return `${value < 10 ? value.toFixed(1) : count(Math.round(value))}/s`;
}

/** @param {number|null} ms  since the Unix epoch */
export function time(ms) {
    return ms ? new Date(ms).toISOString().replace('T', ' ').slice(0, 19) + ' UTC' : '–';
}
