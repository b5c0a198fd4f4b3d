// ---- several files in one page: beside each other on one scale, and the difference of two moments ----

const FILE_ROW = 92;

// Bytes alive after an event by the text of whole stacks, which two files share: text -> { bytes, count, stack, stacks }.
function bytesByFrames(device, event) {
    const rows = new Map();
    device.eachAlive(event, (which, bytes) => {
        const stack = device.alloc.stack[which];
        const row = rows.get(stack) ?? { bytes: 0, count: 0, stack, stacks: device.stacks };
        row.bytes += bytes;
        row.count++;
        rows.set(stack, row);
    });
    const byText = new Map();
    for (const row of rows.values()) {
        const text = device.stacks.framesOf(row.stack).map((f) => `${f.file}:${f.line} ${f.name}`).join('\n');
        const known = byText.get(text);
        byText.set(text, known ? { ...known, bytes: known.bytes + row.bytes, count: known.count + row.count } : row);
    }
    return byText;
}

// [{ a, b, change, name }] of two moments, what changed most first.
function difference(deviceA, eventA, deviceB, eventB) {
    const a = bytesByFrames(deviceA, eventA);
    const b = bytesByFrames(deviceB, eventB);
    const rows = [...new Set([...a.keys(), ...b.keys()])].map((text) => {
        const { stack, stacks } = a.get(text) ?? b.get(text);
        const [before, after] = [a.get(text)?.bytes ?? 0, b.get(text)?.bytes ?? 0];
        return { a: before, b: after, change: after - before, name: stacks.label(stack).filter(Boolean).join(', ') };
    });
    return rows.sort((x, y) => Math.abs(y.change) - Math.abs(x.change) || y.a - x.a);
}

class Files {
    constructor(app, view) {
        Object.assign(this, { app, view, other: 1 });
    }

    draw() {
        const { files } = this.app;
        const most = Math.max(1, ...files.flatMap(({ devices }) => devices.flatMap((d) => [d.about.peak_bytes, ...d.reserved.length ? [d.mostReserved()] : []])));
        const rows = files.map((file, i) => this.row(file, i, most));
        this.view.replaceChildren(...rows, ...this.difference());
        rows.forEach((row, i) => this.paint(row.querySelector('canvas'), files[i], most));
    }

    // The device that is open, or the one that the file would open.
    deviceOf(i) {
        const file = this.app.files[i];
        const { device, event } = i === this.app.place.file ? this.app.place : file.left ?? {};
        const chosen = file.devices[device ?? worthMost(file.devices)];
        return { device: chosen, event: event ?? opensAt(chosen) };
    }

    row(file, i) {
        const box = element('div', `file${i === this.app.place.file ? ' chosen' : ''}`);
        const { device } = this.deviceOf(i);
        const button = element('button', '', file.meta.file);
        button.addEventListener('click', () => this.app.openFile(i));
        const head = element('p');
        head.append(button, ` GPU ${device.about.device}${device.about.ooms.length ? ', out of memory' : ''}: peak ${device.about.peak_text}, reserved at most ${device.about.reserved_peak_text}`);
        const canvas = element('canvas');
        canvas.setAttribute('role', 'img');
        canvas.setAttribute('aria-label', `Memory in use and reserved in ${file.meta.file}`);
        canvas.addEventListener('click', (e) => {
            const at = Math.floor(device.n * e.offsetX / canvas.clientWidth);
            this.app.openFile(i);
            this.app.select(at);
        });
        box.append(head, canvas);
        return box;
    }

    paint(canvas, file, most) {
        const width = Math.max(50, canvas.parentElement.clientWidth);
        canvas.style.height = `${FILE_ROW}px`;
        const context = prepareCanvas(canvas, width, FILE_ROW);
        const { device, event } = this.deviceOf(this.app.files.indexOf(file));
        context.fillStyle = cssColour('--panel');
        context.fillRect(0, 0, width, FILE_ROW);
        const highest = (of, x) => {
            const first = Math.floor(device.n * x / width);
            let top = of[first] ?? 0;
            for (let i = first + 1; i < device.n * (x + 1) / width; i++) {
                top = Math.max(top, of[i]);
            }
            return FILE_ROW * (1 - top / most / 1.05);
        };
        context.fillStyle = PALETTE[theme()][0];
        context.beginPath();
        for (let x = 0; x < width; x++) {
            const y = highest(device.live, x);
            context.rect(x, y, 1, FILE_ROW - y);
        }
        context.fill();
        context.beginPath();
        for (let x = 0; x < width; x++) {
            context.lineTo(x, highest(device.reserved, x));
        }
        context.strokeStyle = cssColour('--ink');
        context.stroke();
        context.fillStyle = cssColour('--accent');
        context.fillRect(width * (event + 0.5) / Math.max(1, device.n), 0, 1.5, FILE_ROW);
    }

    // A is the moment that is open, B that of another file: where it was left, or where it opens.
    difference() {
        const { app } = this;
        const others = app.files.map((_, i) => i).filter((i) => i !== app.place.file);
        this.other = others.includes(this.other) ? this.other : others[0];
        const select = element('select');
        select.id = 'other-file';
        select.append(...others.map((i) => new Option(app.files[i].meta.file, String(i), false, i === this.other)));
        select.addEventListener('change', () => { this.other = Number(select.value); this.draw(); document.getElementById('other-file').focus(); });
        const a = this.deviceOf(app.place.file);
        const b = this.deviceOf(this.other);
        const moment = ({ device, event }) => `event ${countText(Math.max(0, event))}, ${sizeText(device.liveAt(event))} alive`;
        const label = element('label', '', `A: ${app.meta.file}, ${moment(a)}. B: `);
        label.append(select, ` ${moment(b)}`);
        const rows = difference(a.device, a.event, b.device, b.event);
        const t = element('table', 'stacks');
        const line = (tag, cells) => {
            const row = element('tr');
            row.append(...cells.map((text, i) => element(tag, i === 3 ? 'name' : '', text)));
            t.append(row);
        };
        line('th', ['A', 'B', 'B \u2212 A', 'by']);
        rows.slice(0, 300).forEach((r) => line('td', [sizeText(r.a), sizeText(r.b), signed(r.change), r.name]));
        line('td', [sizeText(sum(rows, 'a')), sizeText(sum(rows, 'b')), signed(sum(rows, 'change')), 'TOTAL']);
        const more = rows.length > 300 ? [element('p', 'none', `${countText(rows.length - 300)} stacks more are in the total`)] : [];
        return [element('h2', '', 'Difference'), label, t, ...more];
    }
}
