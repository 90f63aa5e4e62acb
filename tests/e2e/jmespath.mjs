// Expressions of attachments mean the same as in JMESPath: random ones, over random documents, select the same as its
// first implementation (PyPI jmespath), and expressions that only that one reads are named as left out.
//
//   EXPRESSIONS=…/expression_lines node --test jmespath.mjs   (after scripts/e2e-setup.sh)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { CACHE_HOME } from './beckon.mjs';

const PYTHON = join(CACHE_HOME, 'beckon', 'e2e', 'python', 'bin', 'python');
const options = { skip: !existsSync(PYTHON) && `${PYTHON} is not there: scripts/e2e-setup.sh has not run, or could not reach PyPI` };
const LIBRARY = `
import json, sys, jmespath
for line in sys.stdin:
    one = json.loads(line)
    try:
        print(json.dumps({"result": jmespath.search(one["expression"], one["document"])}))
    except Exception as fault:
        print(json.dumps({"error": str(fault)}))
`;

const CASES = 5000;
const NAMES = ['a', 'b', 'c', 'deep', '"a b"', '"ü"'];

/** Numbers from 0 to below `most`, the same in each run. */
function numbers(seed) {
    let state = seed;
    return (most) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * most);
    };
}

class Maker {
    constructor(seed) {
        this.number = numbers(seed);
    }
    one(...of) {
        return of[this.number(of.length)];
    }
    name() {
        return this.one(...NAMES);
    }
    /** An object, as each event is. */
    event() {
        return { a: this.document(), b: this.document(), foo: this.document() };
    }
    document(depth = 4) {
        if (depth === 0 || this.number(6) === 0) return this.one(null, true, 0, 7, 'text', '');
        const size = this.number(4);
        if (this.number(2) === 0) return Array.from({ length: size }, () => this.document(depth - 1));
        // The library goes through an object as it stands, Beckon in the order of its names: so they stand in it.
        const names = NAMES.map((name) => name.replaceAll('"', '')).sort().slice(0, size + 1);
        return Object.fromEntries(names.map((name) => [name, this.document(depth - 1)]));
    }
    slice() {
        const bound = () => this.one('', '', '0', '1', '2', '-1', '-3', '5');
        return `[${bound()}:${bound()}${this.one('', '', ':', ':2', ':-1', ':-2')}]`;
    }
    list(depth) {
        return `[${Array.from({ length: 1 + this.number(3) }, () => this.expression(depth)).join(', ')}]`;
    }
    hash(depth) {
        const names = ['a', '"a b"', 'b', 'c'].slice(this.number(3), 4);
        return `{${names.map((name) => `${name}: ${this.expression(depth)}`).join(',')}}`;
    }
    step(depth) {
        // Neither `.*`, whose projection the library ends after one name (its issue 131, pull request 373), nor a slice
        // that follows an index or a slice, which it makes no projection: a pipe before them says the same.
        return this.one(
            () => `.${this.name()}`, () => `.${this.name()}`, () => `.${this.name()}`,
            () => `[${this.number(5) - 2}]`, () => ` | ${this.slice()}`, () => '[*]', () => '[]', () => ' | *',
            () => `.${this.list(depth)}`, () => `.${this.hash(depth)}`, () => ` | ${this.expression(depth)}`,
        )();
    }
    expression(depth = 3) {
        if (depth === 0) return this.name();
        let text = this.one(
            () => this.name(), () => this.name(), () => this.name(), () => '@', () => '*', () => '[]', () => '[*]',
            () => this.slice(), () => `[${this.number(3)}]`,
            () => this.list(depth - 1), () => this.hash(depth - 1), () => `(${this.expression(depth - 1)})`,
        )();
        for (let steps = this.number(5); steps > 0; --steps) text += this.step(depth - 1);
        return text;
    }
    /** Signs in any order: hardly any of these is an expression. */
    noise() {
        const signs = [...NAMES, '.', '*', '[', ']', '[]', '{', '}', '(', ')', '|', ',', ':', '@', '0', '-1', ' ', '||', '[?', '`1`', "'x'"];
        return Array.from({ length: 1 + this.number(7) }, () => this.one(...signs)).join('');
    }
}

function answersOf(command, args, queries) {
    const input = queries.map((query) => JSON.stringify(query)).join('\n') + '\n';
    const { status, stdout, stderr } = spawnSync(command, args, { input, encoding: 'utf8', maxBuffer: 1 << 30 });
    assert.equal(status, 0, stderr);
    return stdout.trim().split('\n').map((line) => JSON.parse(line));
}
const ours = (queries) => answersOf(process.env.EXPRESSIONS, [], queries);
const theirs = (queries) => answersOf(PYTHON, ['-c', LIBRARY], queries);

test('an expression of the subset selects what JMESPath selects', options, () => {
    const maker = new Maker(1);
    const queries = Array.from({ length: CASES }, () => ({ expression: maker.expression(), document: maker.event() }));
    const answers = ours(queries);
    const wanted = theirs(queries);
    queries.forEach((query, i) => assert.deepEqual(answers[i], wanted[i], JSON.stringify(query)));
    const selected = wanted.filter(({ result }) => result !== null).length;
    console.log(`${CASES} expressions, ${selected} of them select something`);
    assert.ok(selected > CASES / 10, 'nearly nothing was selected, so nearly nothing was compared');
});

test('every refused expression is no JMESPath, or is named as left out', options, () => {
    const maker = new Maker(2);
    const queries = Array.from({ length: CASES }, () => ({ expression: maker.noise(), document: { a: [1, { b: 2 }] } }));
    const answers = ours(queries);
    const wanted = theirs(queries);
    let read = 0;
    queries.forEach(({ expression }, i) => {
        if (/not known here/.test(answers[i].error ?? '')) return;
        assert.equal('error' in answers[i], 'error' in wanted[i], JSON.stringify([expression, answers[i], wanted[i]]));
        if ('result' in wanted[i]) ++read;
    });
    console.log(`${CASES} texts, ${read} of them expressions`);
    assert.ok(read > CASES / 100, 'nearly nothing was an expression');
});
