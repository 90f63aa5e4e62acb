// Charts over time, drawn by uPlot. A page is made anew with each news; a chart is kept by its key, so that it only
// takes the new values, and keeps its cursor, its zoom and the focus.
import { h } from './dom.js';
import { clock, moment, zone } from './format.js';

/** @typedef {'first'|'second'|'third'|'bad'} Colour  as console.css has them */

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {(number|null)[]} values  as many as times; null: none was measured
 * @property {Colour} [colour]
 * @property {boolean} [marks]  a stroke from the bottom wherever there is a value, of no height of its own
 */

/**
 * @typedef {object} Drawn
 * @property {number[]} at  times in ms since the Unix epoch, rising
 * @property {Line[]} lines
 * @property {string} label  what the picture shows, for those who do not see it
 * @property {(value: number) => string} show  a value in words, for the axis and the cursor
 * @property {number} [height]  in px, of the picture alone
 * @property {boolean} [area]  the space below the first line is filled
 */

const HEIGHT = 180;
const SMALL_HEIGHT = 34;
const AXIS_FONT = '12px system-ui, sans-serif';
const MARK_HEIGHT = 0.2;

/** @type {Map<string, Picture>} */
const pictures = new Map();
/** @type {Map<string, string>} */
const colours = new Map();

/**
 * A colour of the style sheet in the form that a canvas takes.
 * @param {string} name
 */
function colour(name) {
    const known = colours.get(name);
    if (known) return known;
    const probe = h('span', { class: `ink-${name}` });
    document.body.append(probe);
    const value = getComputedStyle(probe).color;
    probe.remove();
    colours.set(name, value);
    return value;
}

/** @param {string} key */
const slot = (key) => `chart ${key}`;

/** One chart of uPlot and the element around it. */
class Picture {
    /** @param {string} key  @param {boolean} small */
    constructor(key, small) {
        this.small = small;
        /** @type {Drawn|null} */
        this.drawn = null;
        /** @type {any} */
        this.plot = null;
        this.shape = '';
        this.stage = h('div', { class: 'stage' });
        this.readout = small ? null : h('div', { class: 'readout' });
        this.element = small ? h('div', { class: 'spark', role: 'img' }, this.stage)
            : h('div', { class: 'plot' }, this.readout, h('div', { class: 'cursor', tabindex: '0', role: 'slider', 'data-key': slot(key), onkeydown: (/** @type {KeyboardEvent} */ event) => this.key(event) }, this.stage));
        this.handle = small ? this.element : /** @type {HTMLElement} */ (this.stage.parentElement);
        this.observer = new ResizeObserver(() => this.fit());
        this.observer.observe(this.stage);
    }

    /** @param {Drawn} drawn */
    take(drawn) {
        this.drawn = drawn;
        this.handle.setAttribute('aria-label', drawn.label);
        this.stage.classList.toggle('small', this.small);
        const shape = JSON.stringify([drawn.height, drawn.area, drawn.lines.map((line) => [line.label, line.colour, line.marks])]);
        if (this.plot && shape !== this.shape) this.remove();
        this.shape = shape;
        if (this.plot) {
            const zoomed = this.zoomed();
            this.plot.setData(this.data(), !zoomed);
            if (zoomed) this.plot.redraw();
        }
        this.tell(this.plot?.cursor.idx ?? null);
    }

    data() {
        const { at, lines } = /** @type {Drawn} */ (this.drawn);
        return [at, ...lines.map((line) => (line.marks ? line.values.map((value) => (value === null ? null : MARK_HEIGHT)) : line.values))];
    }

    /** uPlot needs a width: there is none until the page shows the element. */
    fit() {
        const width = Math.floor(this.stage.clientWidth);
        if (!width || !this.drawn) return;
        const height = this.drawn.height ?? (this.small ? SMALL_HEIGHT : HEIGHT);
        if (!this.plot) this.plot = new uPlot(this.options(width, height), this.data(), this.stage);
        else if (this.plot.width !== width) this.plot.setSize({ width, height });
    }

    /** @param {number} width  @param {number} height */
    options(width, height) {
        const { lines, area } = /** @type {Drawn} */ (this.drawn);
        const grid = { stroke: () => colour('line'), width: 1 };
        const axis = { stroke: () => colour('axis'), font: AXIS_FONT, grid, ticks: { show: false } };
        const series = lines.map((line, i) => {
            const name = line.colour ?? 'first';
            if (line.marks) return { scale: 'marks', stroke: () => colour(name), fill: () => colour(name), paths: uPlot.paths.bars({ size: [0.6, 2, 1] }), points: { show: false } };
            return { stroke: () => colour(name), width: 1.5, fill: area && i === 0 ? () => colour(`${name}-soft`) : undefined, points: this.small ? { show: false } : { size: 4 } };
        });
        return {
            width, height, ms: 1, legend: { show: false },
            padding: this.small ? [2, 0, 2, 0] : [8, 20, 0, 0],
            cursor: this.small ? { show: false } : { y: false, drag: { x: true, y: false }, points: { size: 7 } },
            scales: {
                x: { time: true },
                y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number|null} */ top) => [0, top ? top * 1.08 : 1] },
                marks: { range: () => [0, 1] },
            },
            axes: this.small ? [{ show: false }, { show: false }] : [
                { ...axis, space: 70, size: 28, values: (/** @type {any} */ _, /** @type {number[]} */ at, /** @type {number} */ __, /** @type {number} */ ___, /** @type {number} */ step) => at.map((ms) => clock(ms, step)) },
                { ...axis, size: 68, values: (/** @type {any} */ _, /** @type {number[]} */ values) => values.map((value) => /** @type {Drawn} */ (this.drawn).show(value)) },
            ],
            series: [{}, ...series],
            hooks: this.small ? {} : { setCursor: [(/** @type {any} */ plot) => this.tell(plot.cursor.idx)] },
        };
    }

    zoomed() {
        const { min, max } = this.plot.scales.x;
        const at = this.plot.data[0];
        return at.length > 1 && (min > at[0] || max < at[at.length - 1]);
    }

    /**
     * The values at the cursor in words; the newest ones without a cursor.
     * @param {number|null} index
     */
    tell(index) {
        if (!this.readout || !this.drawn) return;
        const { at, lines, show } = this.drawn;
        const i = index ?? at.length - 1;
        const values = lines.map((line) => {
            const value = line.values[i] ?? null;
            return { line, text: line.marks ? (value === null ? '' : 'yes') : value === null ? '–' : show(value) };
        });
        const when = at.length ? moment(at[i]) : 'nothing yet';
        this.readout.replaceChildren(...values.map(({ line, text }) => h('span', {}, h('span', { class: `key ink-${line.colour ?? 'first'}` }), `${line.label} `, h('strong', {}, text))),
            h('span', { class: 'at' }, index === null ? `newest, ${when}` : when));
        this.handle.setAttribute('aria-valuemin', '0');
        this.handle.setAttribute('aria-valuemax', String(Math.max(0, at.length - 1)));
        this.handle.setAttribute('aria-valuenow', String(Math.max(0, i)));
        this.handle.setAttribute('aria-valuetext', `${when}: ${values.filter(({ text }) => text).map(({ line, text }) => `${line.label} ${text}`).join(', ')}`);
    }

    /**
     * The arrows move the cursor; Escape ends it and the zoom.
     * @param {KeyboardEvent} event
     */
    key(event) {
        if (!this.plot || !this.drawn) return;
        const last = this.drawn.at.length - 1;
        const now = this.plot.cursor.idx ?? last;
        const step = event.shiftKey ? 10 : 1;
        /** @type {Record<string, number>} */
        const to = { ArrowLeft: now - step, ArrowRight: now + step, Home: 0, End: last };
        if (event.key === 'Escape') {
            this.plot.setCursor({ left: -10, top: -10 });
            this.plot.setData(this.data(), true);
        } else if (event.key in to && last >= 0) {
            const index = Math.min(Math.max(to[event.key], 0), last);
            this.plot.setCursor({ left: this.plot.valToPos(this.drawn.at[index], 'x'), top: 10 });
        } else {
            return;
        }
        event.preventDefault();
    }

    remove() {
        this.plot?.destroy();
        this.plot = null;
        queueMicrotask(() => this.fit());
    }

    end() {
        this.observer.disconnect();
        this.plot?.destroy();
        this.plot = null;
    }
}

/** @param {string} key  @param {boolean} small  @param {Drawn} drawn */
function draw(key, small, drawn) {
    let picture = pictures.get(key);
    if (!picture || picture.small !== small) {
        picture?.end();
        pictures.set(key, (picture = new Picture(key, small)));
    }
    picture.take(drawn);
    return picture.element;
}

/**
 * A chart with axes, the values at the cursor, and zoom: drag to zoom in, double-click or Escape to zoom out, arrows
 * to move the cursor. Times are the reader's; the values at the cursor have UTC beside.
 * @param {string} key  its name among the charts of the page
 * @param {Drawn} drawn
 */
export function chart(key, drawn) {
    return draw(key, false, drawn);
}

/**
 * A small chart without axes, as wide as its place.
 * @param {string} key  its name among the charts of the page
 * @param {Drawn} drawn
 */
export function spark(key, drawn) {
    return draw(key, true, drawn);
}

/** The line below the last chart of a panel: the time zone of its times. */
export function zoneLine() {
    return h('p', { class: 'quiet zone' }, `Times: ${zone()}. Drag over a chart to zoom in, double-click or Escape to zoom out.`);
}

/** Another page is shown: the charts of the last one end. */
export function endCharts() {
    for (const picture of pictures.values()) picture.end();
    pictures.clear();
}

/** The theme has changed. */
export function repaintCharts() {
    colours.clear();
    for (const picture of pictures.values()) picture.plot?.redraw(false);
}
