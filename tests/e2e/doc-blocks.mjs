// The command and config blocks of a Markdown file, as a reader sees them.
import { readFileSync } from 'node:fs';

const NOT_RUN = /^\s*<!-- not run: (.+) -->\s*$/;

/** Matches the marker of a list item: the text of the item is indented by its length. */
const LIST_ITEM = /^(\s*(?:\d+\.|[*-])\s+)\S/;

/**
 * Indented blocks (four columns, below a list item counted from its text) and fenced ones, in order.
 * @returns {{heading: string, line: number, text: string, notRun: string | null}[]} `notRun`: why, from the comment
 *     `<!-- not run: … -->` above the block
 */
export function blocksOf(file) {
    const blocks = [];
    let [heading, item, notRun, fence, open] = ['', 0, null, null, null];
    let blank = true;
    const add = (line, text) => {
        open.lines.push(text);
        open.last = line;
    };
    const close = () => {
        if (open) blocks.push({ heading, line: open.line, text: open.lines.slice(0, open.last - open.line + 1).join('\n') + '\n', notRun });
        if (open) notRun = null;
        open = null;
    };
    readFileSync(file, 'utf8').split('\n').forEach((text, index) => {
        const line = index + 1;
        const indent = text.search(/\S/);
        if (fence) {
            if (text.trim() === fence) {
                close();
                fence = null;
            } else add(line, text);
            return;
        }
        if (indent < 0) {
            blank = true;
            open?.lines.push('');
            return;
        }
        const started = /^\s*(```+)/.exec(text);
        if (started) {
            fence = started[1];
            open = { line: line + 1, lines: [], last: line };
            return;
        }
        if (indent < item) item = 0;
        if (indent >= item + 4 && (open || blank)) {
            open ??= { line, lines: [], last: line };
            add(line, text.slice(item + 4));
            return;
        }
        close();
        blank = false;
        const mark = NOT_RUN.exec(text);
        if (mark) notRun = mark[1];
        if (text.startsWith('#')) heading = text.replace(/^#+ */, '');
        const listed = LIST_ITEM.exec(text);
        if (listed) item = listed[1].length;
    });
    close();
    return blocks;
}

/** `beckon …` in the running text, outside of blocks. */
export function inlineCommandsOf(file) {
    const prose = readFileSync(file, 'utf8')
        .split('\n')
        .filter((line) => !/^ {4,}\S/.test(line) || /`beckon /.test(line))
        .join(' ');
    return [...prose.matchAll(/`(beckon [^`]+)`/g)].map((found) => found[1]);
}

/** The rows of the first table below `heading`, each cell without its backticks. */
export function tableOf(file, heading) {
    const text = readFileSync(file, 'utf8').split(`# ${heading}\n`)[1];
    const rows = text.split('\n').map((line) => line.trim());
    const from = rows.findIndex((line) => line.startsWith('|---'));
    return rows
        .slice(from + 1, rows.findIndex((line, index) => index > from && !line.startsWith('|')))
        .map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim()));
}
