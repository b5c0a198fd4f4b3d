// ---- search: an address, a size, a part of a frame, of an annotation's name, or of a label ----

class Search {
    constructor(app) {
        this.app = app;
        this.input = document.getElementById('search');
        this.found = document.getElementById('found');
        this.input.addEventListener('input', () => this.run());
        this.input.addEventListener('keydown', (e) => {
            if (e.key === 'Enter') {
                this.step(e.shiftKey ? -1 : 1);
            } else if (e.key === 'Escape') {
                this.input.blur();
            }
        });
        document.getElementById('next').addEventListener('click', () => this.step(1));
        document.getElementById('previous').addEventListener('click', () => this.step(-1));
    }

    // Which rows of a table match: the events are then found through them.
    matcher(text) {
        const device = this.app.device;
        if (/^0x[0-9a-f]+$/i.test(text)) {
            const hits = Uint8Array.from(device.addrs, (addr) => addr.toString(16).startsWith(text.slice(2).toLowerCase()));
            return (i) => device.kindOf[device.action[i]] !== 6 && hits[device.addr[i]];
        }
        if (/^#\d+$/.test(text)) {
            return (i) => i === Number(text.slice(1));
        }
        if (/^[0-9a-f]{9,16}$/i.test(text) || /^b[0-9a-f]{6,16}(_\d+)?$/i.test(text)) { // as MemoryViz prints addresses
            return this.matcher(`0x${text.replace(/^b|_\d+$/g, '')}`);
        }
        const bytes = parseSize(text);
        if (!Number.isNaN(bytes)) {
            const hits = Uint8Array.from(device.sizes, (size) => size === bytes);
            return (i) => hits[device.size[i]];
        }
        const wanted = text.toLowerCase();
        const begins = device.annotations.startsNamed((name) => name.toLowerCase().includes(wanted));
        const hits = new Uint8Array(this.app.stacks.count);
        for (let stack = 1; stack < hits.length; stack++) {
            hits[stack] = this.app.stacks.framesOf(stack)
                .some((f) => `${f.file}:${f.line} ${f.name}`.toLowerCase().includes(wanted));
        }
        const said = new Set(device.meta.strings.flatMap((name, id) => (id && name.toLowerCase().includes(wanted) ? [id] : [])));
        const named = (which) => said.has(device.labels[which]) || said.has(device.regions[which]);
        return (i) => hits[device.stack[i]] || begins.has(i) || named(device.eventAlloc[i]) || device.meta.actions[device.action[i]] === wanted;
    }

    run() {
        const text = this.input.value.trim();
        this.app.place.query = text;
        this.matches = [];
        if (text) {
            const match = this.matcher(text);
            for (let i = 0; i < this.app.device.n; i++) {
                if (match(i)) {
                    this.matches.push(i);
                }
            }
        }
        this.tell();
        this.app.redraw();
        this.app.remember();
    }

    tell() {
        const n = this.matches ? this.matches.length : 0;
        const at = n ? this.matches.indexOf(this.app.place.event) : -1;
        this.found.textContent = !this.input.value.trim() ? '' : n === 0 ? 'not found' : at >= 0 ? `${countText(at + 1)} of ${countText(n)}` : `${countText(n)} found`;
    }

    step(by) {
        const list = this.matches || [];
        if (list.length === 0) {
            return;
        }
        const event = this.app.place.event;
        const next = by > 0 ? list.find((i) => i > event) ?? list[0] : list.findLast((i) => i < event) ?? list[list.length - 1];
        this.app.select(next);
        this.tell();
    }
}
