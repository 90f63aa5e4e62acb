// The checker of the chaos test finds each fault in a made-up history, and none where there is none.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BOUNDS, Checker } from './chaos-checker.mjs';

const TTL = 3600;
const CHANNEL = { client: 'a', channel: 'c' };
const FIRST = { kind: 'greeted', client: 'a', connection: 1, uaid: 'U' };
const AGAIN = { ...FIRST, connection: 2 };
const REGISTERED = { kind: 'registered', ...CHANNEL, endpoint: 'https://push/1' };

const sent = (n, { status = 201, ttl = TTL, topic } = {}) => [
    { kind: 'sending', n, ...CHANNEL, ttl, topic },
    { kind: 'answered', n, status },
];
const arrived = (n, connection = 1) => ({ kind: 'arrived', n, client: 'a', connection });
const acked = (n, connection = 1) => ({ kind: 'acked', n, client: 'a', connection });
const wait = (ms) => ({ kind: 'wait', ms });

/** The faults of a history in which 10 ms pass at each event. */
function faultsOf(...events) {
    const checker = new Checker();
    let at = 0;
    for (const event of events.flat(Infinity)) {
        at += event.kind === 'wait' ? event.ms : 10;
        if (event.kind !== 'wait') checker.note({ ...event, at });
    }
    return checker.faults.map((fault) => fault.replace(/^\d+ ms: /, ''));
}
const holds = (name, ...events) => test(name, () => assert.deepEqual(faultsOf(...events), []));
const finds = (name, pattern, ...events) =>
    test(name, () => {
        const faults = faultsOf(...events);
        assert.equal(faults.length, 1, faults.join('\n'));
        assert.match(faults[0], pattern);
    });

const STABLE = { kind: 'stable' };
const CHECKED = { kind: 'checked' };

// --- a 201 is a promise
holds('what was answered 201 arrived', FIRST, REGISTERED, sent(1), arrived(1), acked(1), STABLE);
holds('a message may arrive before its 201', FIRST, REGISTERED, sent(1)[0], arrived(1), sent(1)[1], STABLE);
holds('what was answered 503, or not at all, may be missing', FIRST, REGISTERED, sent(1, { status: 503 }), sent(2, { status: 0 }), STABLE);
holds('what was answered 503, or not at all, may arrive', FIRST, REGISTERED, sent(1, { status: 503 }), arrived(1), sent(2, { status: 0 }), arrived(2), STABLE);
holds('a message with TTL 0 may be missing', FIRST, REGISTERED, sent(1, { ttl: 0 }), STABLE);
holds('a message whose TTL ended may be missing', FIRST, REGISTERED, sent(1, { ttl: 2 }), wait(2000), STABLE);
holds('a message that somebody wants to delete may be missing', FIRST, REGISTERED, sent(1), { kind: 'deleting', n: 1 }, STABLE);
holds('an older message of a Topic may be missing', FIRST, REGISTERED, sent(1, { topic: 't' }), sent(2, { topic: 't' }), arrived(2), STABLE);
holds('a message to a channel that is left may be missing', FIRST, REGISTERED, sent(1), { kind: 'unregistering', ...CHANNEL }, STABLE);
holds('a message to a channel that was joined again before is not wanted', FIRST, REGISTERED, sent(1), { kind: 'unregistering', ...CHANNEL }, { kind: 'unregistered', ...CHANNEL }, REGISTERED, STABLE);
finds('a message that was answered 201 and never came', /never came/, FIRST, REGISTERED, sent(1), STABLE);
finds('a message that was answered 201 after the channel was joined again', /never came/, FIRST, REGISTERED, { kind: 'unregistering', ...CHANNEL }, { kind: 'unregistered', ...CHANNEL }, REGISTERED, sent(1), STABLE);
finds('a message with a short TTL that never came although time was left', /never came/, FIRST, REGISTERED, sent(1, { ttl: 2 }), wait(1000), STABLE);
holds('one of two messages of a Topic whose POSTs ran side by side may be missing', FIRST, REGISTERED, sent(1, { topic: 't' })[0], sent(2, { topic: 't' }), sent(1)[1], arrived(1), STABLE);
holds('a message of a Topic after one without an answer may be missing', FIRST, REGISTERED, sent(1, { topic: 't', status: 0 }), sent(2, { topic: 't' }), STABLE);
finds('a message of a Topic long after one without an answer never came', /message 2 .* never came/, FIRST, REGISTERED, sent(1, { topic: 't', status: 0 }), wait(20000), sent(2, { topic: 't' }), STABLE);
finds('the newest message of a Topic never came', /message 2 .* never came/, FIRST, REGISTERED, sent(1, { topic: 't' }), sent(2, { topic: 't' }), STABLE);
finds('a message that another client got', /b got message 1, which was not sent to it/, FIRST, REGISTERED, sent(1), { ...arrived(1), client: 'b' }, arrived(1));
finds('a message that nobody sent', /a got message 7/, FIRST, arrived(7));
finds('a POST that was refused for no reason', /answered 401/, FIRST, REGISTERED, sent(1, { status: 401 }));

// --- what is finished does not come back
const CONFIRMED = { kind: 'confirmed', ns: [1] };
holds('a repetition before the ack is confirmed', FIRST, REGISTERED, sent(1), arrived(1), acked(1), AGAIN, arrived(1, 2));
finds('a message after its confirmed ack', /after its confirmed ack/, FIRST, REGISTERED, sent(1), arrived(1), acked(1), CONFIRMED, AGAIN, arrived(1, 2));
finds('a message after its confirmed ack, on the same connection', /after its confirmed ack/, FIRST, REGISTERED, sent(1), arrived(1), acked(1), CONFIRMED, arrived(1));
holds('what a former connection still had in its hands', FIRST, REGISTERED, sent(1), arrived(1), acked(1), CONFIRMED, AGAIN, arrived(1, 1));
const DELETED = [{ kind: 'deleting', n: 1 }, { kind: 'deleted', n: 1 }];
holds('a message in the moment after its DELETE', FIRST, REGISTERED, sent(1), DELETED, arrived(1));
finds('a message after its DELETE', /after its DELETE/, FIRST, REGISTERED, sent(1), DELETED, wait(BOUNDS.lagMs), arrived(1));
finds('a message with TTL 0 after its DELETE', /after its DELETE/, FIRST, REGISTERED, sent(1, { ttl: 0 }), DELETED, wait(BOUNDS.lagMs), arrived(1));
finds('a message after its expiry', /after its expiry/, FIRST, REGISTERED, sent(1, { ttl: 2 }), wait(2000 + BOUNDS.lagMs), arrived(1));
finds('a message with TTL 0 long after it was sent', /after its expiry/, FIRST, REGISTERED, sent(1, { ttl: 0 }), wait(10000), arrived(1));
holds('a message with TTL 0 that was held for its client', FIRST, REGISTERED, sent(1, { ttl: 0 }), wait(6000), arrived(1));
holds('a POST without an answer may be appended later', FIRST, REGISTERED, sent(1, { ttl: 2, status: 0 }), wait(10000), arrived(1));
holds('an older message of a Topic before the newer one is acknowledged', FIRST, REGISTERED, sent(1, { topic: 't' }), sent(2, { topic: 't' }), arrived(1), arrived(2), acked(2));
finds('an older message of a Topic after the newer one was acknowledged', /newer one of its Topic/, FIRST, REGISTERED, sent(1, { topic: 't' }), sent(2, { topic: 't' }), arrived(2), acked(2), arrived(1));
holds('two messages of a Topic whose POSTs ran side by side', FIRST, REGISTERED, sent(1, { topic: 't' })[0], sent(2, { topic: 't' }), sent(1)[1], arrived(2), acked(2), arrived(1));

// --- nobody is forgotten
finds('410 for a live channel', /410 for the live channel/, FIRST, REGISTERED, sent(1, { status: 410 }));
finds('404 for a live channel', /404 for the live channel/, FIRST, REGISTERED, sent(1, { status: 404 }));
holds('410 for a channel that is being left', FIRST, REGISTERED, { kind: 'unregistering', ...CHANNEL }, sent(1, { status: 410 }));
holds('410 for a POST that began before the channel was there again', FIRST, REGISTERED, { kind: 'unregistering', ...CHANNEL }, sent(1)[0], REGISTERED, sent(1, { status: 410 })[1]);
finds('410 after the channel was joined again', /410 for the live channel/, FIRST, REGISTERED, { kind: 'unregistering', ...CHANNEL }, { kind: 'unregistered', ...CHANNEL }, REGISTERED, sent(1, { status: 410 }));
finds('an endpoint that changed', /endpoint of channel c changed/, FIRST, REGISTERED, { ...REGISTERED, endpoint: 'https://push/2' });
holds('another UAID while nothing is registered', FIRST, { ...AGAIN, uaid: 'V' });
finds('another UAID after a registration', /UAID U became V/, FIRST, REGISTERED, { ...AGAIN, uaid: 'V' });

// --- nobody waits for ever
const SEEKING = { kind: 'seeking', client: 'a' };
holds('a client that connects in time', SEEKING, wait(BOUNDS.connectMs - 100), CHECKED, FIRST);
finds('a client that connects too late', /could not connect/, SEEKING, wait(BOUNDS.connectMs), FIRST);
finds('a client that never connects', /could not connect/, SEEKING, wait(BOUNDS.connectMs), CHECKED, CHECKED);
const ASKED = { kind: 'requested', client: 'a', connection: 1, what: 'ping' };
holds('a frame that is answered', FIRST, ASKED, { ...ASKED, kind: 'replied' }, wait(BOUNDS.answerMs), CHECKED);
holds('a frame on a connection that is over', FIRST, ASKED, { kind: 'left', client: 'a', connection: 1 }, wait(BOUNDS.answerMs), CHECKED);
finds('a frame that is never answered', /no answer on an open connection: 1 ping/, FIRST, ASKED, wait(BOUNDS.answerMs), CHECKED, CHECKED);

// --- who hangs or is cut off stops the bounds, and nothing else
const disturbed = (ms) => [{ kind: 'disturbing', what: 'x' }, wait(ms), { kind: 'calm', what: 'x' }];
holds('no bound counts while a process hangs', FIRST, REGISTERED, sent(1), DELETED, ASKED, disturbed(BOUNDS.answerMs), CHECKED, arrived(1));
finds('bounds go on afterwards', /no answer/, FIRST, ASKED, disturbed(BOUNDS.answerMs), wait(BOUNDS.answerMs + BOUNDS.tailMs), CHECKED);
finds('overlapping disturbances count once', /no answer/, FIRST, ASKED, { kind: 'disturbing', what: 'y' }, disturbed(1000), { kind: 'calm', what: 'y' }, wait(BOUNDS.answerMs + BOUNDS.tailMs), CHECKED);
finds('disturbances excuse no message after its confirmed ack', /confirmed/, FIRST, REGISTERED, sent(1), arrived(1), acked(1), CONFIRMED, disturbed(1000), arrived(1));

// --- placement
const placed = (home, ...partitions) => partitions.map((partition) => ({ kind: 'placed', partition, home }));
const joined = (node, joining = false) => ({ kind: 'joined', node, name: node[0], joining });
const ending = (name) => ({ kind: 'ending', name });
/** Three nodes with four partitions. */
const PLACED = [joined('a1'), joined('b1'), joined('c1'), placed('a1', 0), placed('b1', 1, 2), placed('c1', 3)];
const TWICE = /partition 0 moved twice for the death of node a1: to b1, then to c1/;
holds('a death moves a partition', PLACED, ending('a'), placed('b1', 0, 0));
holds('a partition goes back to a process that was started again', PLACED, ending('a'), placed('b1', 0), joined('a2'), placed('a2', 0));
holds('a process that was started before its partition moved gets it back', PLACED, ending('a'), joined('a2'), placed('b1', 0), placed('a2', 0));
holds('a process that started before the death gets its share after it', PLACED, ending('c'), placed('b1', 3), joined('c2'), ending('a'), placed('b1', 0), placed('c2', 0));
holds('two deaths move a partition twice', PLACED, ending('a'), placed('b1', 0), ending('b'), placed('c1', 0));
holds('the death of another node moves a partition once more', PLACED, joined('d1'), placed('d1', 2), ending('a'), placed('b1', 0), ending('d'), placed('c1', 0));
holds('the death of another node, whose partitions move later, moves a partition once more', PLACED, joined('d1'), placed('d1', 2), ending('d'), ending('a'), placed('b1', 0, 2), placed('c1', 0));
holds('a home that has only partitions of the dead gives one of them away', PLACED, ending('b'), placed('c1', 1), placed('a1', 2), ending('a'), placed('c1', 0), joined('b2'), placed('b2', 3), placed('b2', 0));
for (const of of ['a', 'b', 'c', undefined]) {
    const disturbed = (kind) => ({ kind, what: 'x', name: of });
    holds(`a partition moves on while ${of ?? 'everything'} is disturbed`, PLACED, disturbed('disturbing'), ending('a'), placed('b1', 0), placed('c1', 0));
    holds(`a partition moves on soon after ${of ?? 'everything'} was disturbed`, PLACED, disturbed('disturbing'), disturbed('calm'), ending('a'), placed('b1', 0), placed('c1', 0));
    finds(`a partition that moved twice long after ${of ?? 'everything'} was disturbed`, TWICE, PLACED, disturbed('disturbing'), disturbed('calm'), wait(BOUNDS.regroupMs), ending('a'), placed('b1', 0), placed('c1', 0));
}
holds('a partition leaves a node that the group has not taken yet', PLACED, joined('b1', true), ending('a'), placed('b1', 0), placed('c1', 0));
holds('what was written before a death is not its move', PLACED, wait(1000), ending('a'), { ...placed('b1', 0)[0], written: 900 }, placed('c1', 0));
holds('a process whose first record is read after its death is dead', PLACED, ending('b'), placed('c1', 1, 2), { ...joined('b2'), written: 200 }, ending('b'), placed('b2', 1), placed('c1', 1));
finds('a partition that moved twice for one death', TWICE, PLACED, ending('a'), placed('b1', 0), placed('c1', 0));
finds('a partition that moved twice for one death though its process is back', TWICE, PLACED, ending('a'), placed('b1', 0), joined('a2'), placed('c1', 0));
finds('a partition that moved twice for one death while a fourth node is disturbed', TWICE, PLACED, joined('d1'), { kind: 'disturbing', what: 'x', name: 'd' }, ending('a'), placed('b1', 0), placed('c1', 0));
