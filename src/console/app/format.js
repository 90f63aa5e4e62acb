// Numbers and times for people.

const COUNT = new Intl.NumberFormat('en');

/**
 * @template T
 * @param {T[]} items
 * @param {(item: T) => number} of
 */
export const sum = (items, of) => items.reduce((total, item) => total + of(item), 0);

/** @param {number} value */
export const count = (value) => COUNT.format(value);

/** @param {number} value  @param {string} one  @param {string} [many] */
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** @param {number|null|undefined} value  in seconds */
export function seconds(value) {
    if (value === null || value === undefined) return '–';
    if (value < 10) return `${value % 1 ? value.toFixed(1) : value}\u00a0s`;
    if (value < 120) return `${Math.floor(value)}\u00a0s`;
    if (value < 7200) return twoUnits(Math.floor(value / 60), 'min', Math.floor(value % 60), 's');
    if (value < 172800) return twoUnits(Math.floor(value / 3600), 'h', Math.floor(value / 60) % 60, 'min');
    return twoUnits(Math.floor(value / 86400), 'd', Math.floor(value / 3600) % 24, 'h');
}

/** @param {number} many  @param {string} unit  @param {number} rest  @param {string} of */
const twoUnits = (many, unit, rest, of) => `${many}\u00a0${unit}${rest ? ` ${rest}\u00a0${of}` : ''}`;

/** @param {number|null|undefined} value */
export function milliseconds(value) {
    if (value === null || value === undefined) return '–';
    if (value < 10) return `${value.toFixed(1)}\u00a0ms`;
    return value < 2000 ? `${Math.round(value)}\u00a0ms` : seconds(Math.round(value / 100) / 10);
}

/** @param {number} value */
export function bytes(value) {
    const units = ['B', 'KB', 'MB', 'GB', 'TB'];
    const step = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
    const scaled = value / 1000 ** step;
    return `${scaled < 10 && step ? scaled.toFixed(1) : Math.round(scaled)}\u00a0${units[step]}`;
}

/** @param {number} value  per second */
export function rate(value) {
    return `${value && value < 10 ? value.toFixed(1) : count(Math.round(value))}/s`;
}

/** @param {number} value  @param {number} [places] */
const two = (value, places = 2) => String(value).padStart(places, '0');

/** @param {Date} at */
const day = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;

/** @param {Date} at */
const ofDay = (at) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;

/**
 * UTC beside a time of the reader's: without the day where that is the same.
 * @param {Date} at
 * @param {number} length
 */
function beside(at, length) {
    if (at.getTimezoneOffset() === 0) return ' UTC';
    const utc = at.toISOString();
    const [date, time] = [utc.slice(0, 10), utc.slice(11, 11 + length)];
    return ` (${date === day(at) ? '' : `${date} `}${time} UTC)`;
}

/**
 * In the reader's time zone, with UTC beside.
 * @param {number|null} ms  since the Unix epoch
 */
export function time(ms) {
    if (!ms) return '–';
    const at = new Date(ms);
    return `${day(at)} ${ofDay(at)}${beside(at, 8)}`;
}

/**
 * The same with milliseconds.
 * @param {number} ms
 */
export function moment(ms) {
    const at = new Date(ms);
    return `${day(at)} ${ofDay(at)}.${two(at.getMilliseconds(), 3)}${beside(at, 12)}`;
}

/**
 * The time of day alone, in the reader's time zone.
 * @param {number} ms
 */
export const timeOfDay = (ms) => ofDay(new Date(ms));

/**
 * For an axis whose marks are `step` ms apart.
 * @param {number} ms
 * @param {number} step
 */
export function clock(ms, step) {
    const at = new Date(ms);
    if (step >= 86400000) return day(at).slice(5);
    return step < 60000 ? ofDay(at) : ofDay(at).slice(0, 5);
}

/** The reader's time zone by name. */
export function zone() {
    const minutes = -new Date().getTimezoneOffset();
    const name = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const away = `UTC${minutes < 0 ? '−' : '+'}${Math.floor(Math.abs(minutes) / 60)}${minutes % 60 ? `:${two(Math.abs(minutes) % 60)}` : ''}`;
    return minutes === 0 && name === 'UTC' ? 'UTC' : `${name} (${away})`;
}
