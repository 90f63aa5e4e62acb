// The plan of faults of the processes, in order: a function of the seed and nothing else.

/** mulberry32: numbers from 0 to 1 that follow from a seed. */
export function randomFrom(seed) {
    let state = seed >>> 0;
    const random = () => {
        state = (state + 0x6d2b79f5) >>> 0;
        let t = state;
        t = Math.imul(t ^ (t >>> 15), t | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
    random.from = (least, most) => least + Math.floor(random() * (most - least + 1));
    random.of = (list) => list[Math.floor(random() * list.length)];
    random.chance = (share) => random() < share;
    /** One of [[weight, value] …]. */
    random.weighed = (choices) => {
        let at = random() * choices.reduce((sum, [weight]) => sum + weight, 0);
        return choices.find(([weight]) => (at -= weight) < 0)[1];
    };
    return random;
}

// [weight, {fault, hold: least and most ms until it is healed}]; `wipes`: the share that lose their RocksDB directory.
const ON_EDGE = [
    [45, { fault: 'kill', hold: [0, 1500], wipes: 0.15 }],
    [10, { fault: 'terminate', hold: [0, 500] }],
    [5, { fault: 'pause', hold: [500, 9000] }],
    [4, { fault: 'cut brokers', hold: [500, 8000] }],
    [3, { fault: 'silence brokers', hold: [500, 8000] }],
    [4, { fault: 'cut links', hold: [500, 6000] }],
    [3, { fault: 'silence links', hold: [500, 6000] }],
    [3, { fault: 'reject links', hold: [500, 6000] }],
];
const ON_ENDPOINT = [
    [70, { fault: 'kill', hold: [0, 1000], wipes: 0.15 }],
    [20, { fault: 'terminate', hold: [0, 500] }],
    [10, { fault: 'pause', hold: [500, 3000] }],
];
const ON_BROKER = [
    [70, { fault: 'kill broker', hold: [0, 1000] }],
    [30, { fault: 'pause broker', hold: [500, 3000] }],
];
const ON_STANDALONE = [
    [80, { fault: 'kill', hold: [0, 500], wipes: 0.2 }],
    [12, { fault: 'terminate', hold: [0, 500] }],
    [8, { fault: 'pause', hold: [500, 3000] }],
];
const ENDS_A_PROCESS = ['kill', 'terminate', 'kill broker'];
const KILLS_A_ROUND = 12;

export const isKill = ({ fault }) => ENDS_A_PROCESS.includes(fault);

/**
 * @returns steps {after, fault, target, hold, wipe}: `after` so many ms the fault begins, and ends after `hold`. At a
 *     step {fault: 'stabilise'} all is healed and judged; the last one is such a step.
 */
export function plan({ seed, kills, log, edges, endpoints, brokers }) {
    const random = randomFrom(seed);
    const kinds = log === 'kafka' ? [[62, [ON_EDGE, edges]], [30, [ON_ENDPOINT, endpoints]], [8, [ON_BROKER, brokers]]] : [[1, [ON_STANDALONE, ['standalone']]]];
    const steps = [];
    for (let done = 0; done < kills; ) {
        const [faults, targets] = random.weighed(kinds);
        const { fault, hold, wipes = 0 } = random.weighed(faults);
        const step = { after: random.from(200, 1200), fault, target: random.of(targets), hold: random.from(...hold), wipe: random.chance(wipes) };
        steps.push(step);
        if (!isKill(step)) continue;
        if (++done % KILLS_A_ROUND === 0 && done < kills) steps.push({ after: 0, fault: 'stabilise' });
    }
    return [...steps, { after: 0, fault: 'stabilise' }];
}
