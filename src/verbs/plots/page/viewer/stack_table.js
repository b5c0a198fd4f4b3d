// ---- stacks of what is alive at the event, as a table: sorted by any column ----

// One row a stack: bytes, allocations, largest, since when the oldest is there.
function stackRows(device, stacks, event) {
    const rows = new Map();
    device.eachAlive(event, (which, bytes) => {
        const stack = device.alloc.stack[which];
        const row = rows.get(stack) ?? { stack, bytes: 0, count: 0, largest: 0, oldest: Infinity };
        row.bytes += bytes;
        row.count++;
        row.largest = Math.max(row.largest, bytes);
        row.oldest = Math.min(row.oldest, device.alloc.start[which]);
        rows.set(stack, row);
    });
    const list = [...rows.values()].sort((x, y) => y.bytes - x.bytes);
    stacks.labels(list.map(({ stack }) => stack)).forEach(([name, under], i) => { list[i].name = [name, under].filter(Boolean).join(', '); });
    return list;
}

const STACK_COLUMNS = [['bytes', 'bytes', sizeText], ['count', 'count', countText], ['largest', 'largest', sizeText],
    ['oldest', 'oldest since', (event) => (event < 0 ? WORDS.older : `event ${countText(event)}`)], ['name', 'by', String]];

class StackTable {
    constructor(app, view) {
        Object.assign(this, { app, view, by: 'bytes', down: true });
    }

    draw() {
        const MOST = 500;
        const rows = stackRows(this.app.device, this.app.stacks, this.app.place.event);
        rows.sort((x, y) => (this.down ? -1 : 1) * (x[this.by] < y[this.by] ? -1 : x[this.by] > y[this.by] ? 1 : 0));
        const table = element('table', 'stacks');
        const head = element('tr');
        for (const [key, words] of STACK_COLUMNS) {
            const cell = element('th');
            const button = element('button', '', words);
            cell.setAttribute('aria-sort', key !== this.by ? 'none' : this.down ? 'descending' : 'ascending');
            button.addEventListener('click', () => {
                this.down = key === this.by ? !this.down : key !== 'name';
                this.by = key;
                this.draw();
            });
            cell.append(button);
            head.append(cell);
        }
        table.append(head);
        for (const row of rows.slice(0, MOST)) {
            const line = element('tr');
            line.append(...STACK_COLUMNS.map(([key, , words]) => element('td', key, words(row[key]))));
            line.addEventListener('click', () => showStack(this.app, row));
            table.append(line);
        }
        const more = rows.length > MOST ? [element('p', 'none', `and ${countText(rows.length - MOST)} stacks more`)] : [];
        this.view.replaceChildren(table, ...more);
    }
}
