// ---- a device: what the columns say, and what follows from them ----

const NEVER = 0xffffffff;

// What an event does: 0 nothing, 1 alloc, 2 free requested, 3 free, 4 reserve, 5 release, 6 oom, 7 names what lives there.
const KINDS = {
    alloc: 1, annotate: 7, free_requested: 2, free_completed: 3, free: 3,
    segment_alloc: 4, segment_map: 4, segment_free: 5, segment_unmap: 5, oom: 6 };

class Device {
    static async read(index, meta, stacks) {
        const device = new Device();
        const id = (name) => `d${(meta.first_device || 0) + index}-${name}`;
        device.stacks = stacks;
        device.meta = meta;
        device.about = meta.devices[index];
        const columns = {
            action: Uint8Array, addr: Uint32Array, size: Uint32Array, stack: Uint32Array, stream: Uint16Array,
            time: Uint32Array, addrs: BigUint64Array, sizes: Float64Array, rounded: Float64Array,
            ghosts: Uint32Array, blocks: Uint32Array, pieces: Uint32Array,
            labels: Uint32Array, regions: Uint32Array, forward: Uint32Array, passes: Uint32Array, categories: Uint8Array, whatif: Uint32Array };
        await Promise.all(Object.entries(columns).map(async ([name, Type]) => {
            device[name] = await readColumn(id(name), Type);
        }));
        device.n = device.action.length;
        device.kindOf = Uint8Array.from(meta.actions, (name) => KINDS[name] || 0);
        device.placeAddresses();
        device.pairEvents();
        device.readPieces();
        device.readBands();
        device.readWhatIfs();
        device.colourBy('stack');
        device.annotations = new Annotations(device.about.annotations, meta.strings, device.n);
        return device;
    }

    // Addresses as distances from the lowest: exact in a double whatever the addresses are.
    placeAddresses() {
        const addrs = this.addrs;
        let base = addrs.length ? addrs[0] : 0n;
        for (const addr of addrs) {
            base = addr && addr < base ? addr : base;
        }
        this.place = Float64Array.from(addrs, (addr) => Number(addr - base));
    }

    addressText(index) {
        return `0x${this.addrs[index].toString(16)}`;
    }

    // Allocations: first those older than the trace (ghosts), then one an alloc event.
    pairEvents() {
        const ghosts = this.ghosts.length / 5;
        let total = ghosts;
        for (let i = 0; i < this.n; i++) {
            total += this.kindOf[this.action[i]] === 1;
        }
        this.ghostCount = ghosts;
        const a = this.alloc = {
            n: total, start: new Int32Array(total).fill(-1), end: new Uint32Array(total).fill(NEVER),
            requested: new Uint32Array(total).fill(NEVER), addr: new Uint32Array(total),
            size: new Uint32Array(total), stack: new Uint32Array(total), stream: new Uint16Array(total) };
        const ghostFreed = new Map();
        for (let g = 0; g < ghosts; g++) {
            [a.addr[g], a.size[g], a.requested[g], a.end[g], a.stack[g]] = this.ghosts.subarray(g * 5, g * 5 + 5);
            if (a.end[g] !== NEVER) {
                ghostFreed.set(a.end[g], g);
            }
            if (a.requested[g] !== NEVER) {
                ghostFreed.set(a.requested[g], g);
            }
        }
        this.walk(ghostFreed, ghosts);
    }

    walk(ghostFreed, ghosts) {
        const a = this.alloc;
        const current = new Uint32Array(this.addrs.length).fill(NEVER);
        const older = new Map(); // address -> ghost
        for (let g = 0; g < ghosts; g++) {
            older.set(a.addr[g], g);
        }
        this.eventAlloc = new Uint32Array(this.n).fill(NEVER);
        this.live = new Float64Array(this.n);
        this.reserved = new Float64Array(this.n);
        this.when = new Float64Array(this.n);
        this.unseenEnds = new Map(); // event -> allocation whose address it takes over
        let live = 0;
        for (let g = 0; g < ghosts; g++) {
            live += this.sizes[a.size[g]];
        }
        this.liveBefore = live;
        let reserved = this.about.start_reserved;
        let now = 0;
        let next = ghosts;
        for (let i = 0; i < this.n; i++) {
            const addr = this.addr[i];
            const time = this.time[i];
            now += (time >>> 1) ^ -(time & 1);
            this.when[i] = now;
            switch (this.kindOf[this.action[i]]) {
            case 1: {
                const old = current[addr];
                if (old !== NEVER) { // its end was not recorded
                    a.end[old] = i;
                    this.unseenEnds.set(i, old);
                    live -= this.sizes[a.size[old]];
                }
                a.start[next] = i;
                a.addr[next] = addr;
                a.size[next] = this.size[i];
                a.stack[next] = this.stack[i];
                a.stream[next] = this.stream[i];
                current[addr] = next;
                this.eventAlloc[i] = next++;
                live += this.sizes[this.size[i]];
                break;
            }
            case 2:
            case 3: {
                let which = current[addr];
                if (which === NEVER) {
                    which = ghostFreed.get(i) ?? NEVER;
                }
                this.eventAlloc[i] = which;
                if (which === NEVER) {
                    break;
                }
                if (this.kindOf[this.action[i]] === 2) {
                    a.requested[which] = i;
                } else {
                    a.end[which] = i;
                    current[addr] = NEVER;
                    live -= this.sizes[a.size[which]];
                }
                break;
            }
            case 7: this.eventAlloc[i] = current[addr] !== NEVER ? current[addr] : older.get(addr) ?? NEVER; break;
            case 4: reserved += this.sizes[this.size[i]]; break;
            case 5: reserved -= this.sizes[this.size[i]]; break;
            }
            this.live[i] = live;
            this.reserved[i] = reserved;
        }
        this.blockSize = new Map(); // where it is not the request rounded up
        for (let i = 0; i < this.blocks.length; i += 2) {
            this.blockSize.set(this.blocks[i], this.sizes[this.blocks[i + 1]]);
        }
    }

    aliveAt(alloc, event) {
        return this.alloc.start[alloc] <= event && event < this.alloc.end[alloc];
    }

    blockBytes(alloc) {
        return this.blockSize.get(alloc) ?? this.rounded[this.alloc.size[alloc]];
    }

    // What the program said of an allocation, and what it is for: rows of a table.
    toldOf(alloc) {
        const rows = [['label', this.meta.strings[this.labels[alloc] || 0]], ['region', this.meta.strings[this.regions[alloc] || 0]]];
        const category = this.categories[alloc] || 0;
        const name = this.meta.categories[category & 15];
        rows.push(['category', category & 15 ? `${name} (confidence ${this.meta.sureness[category >> 4]})` : name]);
        return rows.filter(([, text]) => text);
    }

    // The calls of the forward pass that memory of a backward pass belongs to, outermost first, as Python prints them.
    forwardOf(alloc) {
        const at = this.forward[alloc] || 0; // 0: none
        const lines = at ? Array.from(this.passes.subarray(at, at + this.passes[at - 1]), (id) => this.meta.strings[id]) : [];
        return lines.map((line) => line.match(/File "([^"\n]+)", line ([^,\s]+)(?:, in ([^\n]+))?/)).filter(Boolean)
            .map(([, file, line, name]) => `${baseName(file)}:${line}${name ? ` ${name}` : ''}`);
    }

    // The same of a stack, of its first allocation that tells it, and how many other passes its others belong to.
    forwardOfStack(stack) {
        const passes = new Set();
        let first = NEVER;
        this.forward.forEach((pass, alloc) => {
            if (pass && this.alloc.stack[alloc] === stack) {
                passes.add(pass);
                first = Math.min(first, alloc);
            }
        });
        return [first === NEVER ? [] : this.forwardOf(first), Math.max(0, passes.size - 1)];
    }

    // Calls back for each allocation that is alive after the event.
    eachAlive(event, call) {
        const a = this.alloc;
        for (let i = 0; i < a.n; i++) {
            if (a.start[i] <= event && event < a.end[i]) {
                call(i, this.sizes[a.size[i]]);
            }
        }
    }

    bytesByStack(event) {
        const bytes = new Map();
        this.eachAlive(event, (which, size) => {
            const stack = this.alloc.stack[which];
            bytes.set(stack, (bytes.get(stack) || 0) + size);
        });
        return [...bytes].filter(([, size]) => size > 0).sort((x, y) => y[1] - x[1] || x[0] - y[0]);
    }

    // The bands of the pictures of this file, from the ground up and in their colours: memory that is older than the
    // trace is one of them (-1), whatever stacks it has.
    readBands() {
        this.peak = this.n ? this.about.peak_event : -1;
        this.stackBands = this.about.bands.map(([stack, light, dark]) => ({ stack, light, dark, bytes: 0 }));
        const older = this.stackBands.findIndex(({ stack }) => stack < 0);
        const bandOf = new Uint8Array(this.stacks.count).fill(this.stackBands.length);
        this.stackBands.forEach(({ stack }, band) => {
            if (stack >= 0) {
                bandOf[stack] = band;
            }
        });
        const { ghostCount, alloc: { stack } } = this;
        this.stackBandOf = (which) => (which < ghostCount && older >= 0 ? older : bandOf[stack[which]]);
    }

    // Chooses what bands and colours tell apart: one of GROUPINGS.
    colourBy(by) {
        this.by = by;
        const { bands, bandOf } = by === 'stack' ? { bands: this.stackBands.map((band) => ({ ...band })), bandOf: this.stackBandOf } : groupBy(this, by);
        this.bands = bands;
        this.bandOfAlloc = bandOf;
        const others = new Set();
        bands.forEach((band) => { band.bytes = 0; });
        this.eachAlive(this.peak, (which, bytes) => {
            const band = bandOf(which);
            if (band < bands.length) {
                bands[band].bytes += bytes;
            } else {
                others.add(this.alloc.stack[which]);
            }
        });
        this.charts = { memory: { bands, layers: layersOfMemory(this, bands.length + 1, bandOf), others: others.size } };
    }

    // One of CHARTS, made when it is first asked for.
    chart(name) {
        this.charts[name] ??= name === 'pools' ? chartOfPools(this) : chartOfSegments(this);
        return this.charts[name];
    }

    readPieces() {
        this.segments = [];
        for (let i = 0; i < this.pieces.length; i += 8) {
            const [addr, size, from, to, stack, pool, stream, flags] = this.pieces.subarray(i, i + 8);
            this.segments.push({
                place: this.place[addr], addr, size: this.sizes[size], from, to, stack, pool, stream,
                large: (flags & 1) !== 0, expandable: (flags & 2) !== 0 });
        }
        this.segments.sort((x, y) => x.place - y.place);
        let end = 0;
        this.reach = Float64Array.from(this.segments, (s) => { end = Math.max(end, s.place + s.size); return end; });
        this.piecesAt = new Map(); // by address: the pieces that ever held it
    }

    // The piece of reserved memory that an allocation lies in when it begins; undefined: none is known.
    pieceOf(which) {
        const addr = this.alloc.addr[which];
        let list = this.piecesAt.get(addr);
        if (!list) {
            list = [];
            const place = this.place[addr];
            for (let i = countUpTo(this.segments, place) - 1; i >= 0 && this.reach[i] > place; i--) {
                if (this.segments[i].place + this.segments[i].size > place) {
                    list.push(this.segments[i]);
                }
            }
            this.piecesAt.set(addr, list);
        }
        const start = Math.max(0, this.alloc.start[which]);
        return list.find(({ from, to }) => from <= start && start < to) ?? list[0];
    }

    liveAt(event) {
        return event < 0 ? this.liveBefore : this.live[event];
    }

    mostReserved() {
        return this.reserved.reduce((most, bytes) => Math.max(most, bytes), this.about.start_reserved);
    }

    // What would be reserved under other settings: { conf, refusals, exact, events, bytes }.
    readWhatIfs() {
        const UNIT = 512;
        this.whatIfs = [];
        for (let at = 0; at < this.whatif.length;) {
            const [words, refusals, exact] = this.whatif.subarray(at, at + 3);
            const steps = this.whatif.subarray(at + 3, at + 3 + words);
            const half = (odd) => Float64Array.from({ length: words / 2 }, (_, i) => steps[2 * i + odd] * (odd ? UNIT : 1));
            this.whatIfs.push({ conf: this.meta.whatifs[this.whatIfs.length], refusals, exact: exact === 1, events: half(0), bytes: half(1) });
            at += 3 + words;
        }
    }

    reservedAt(event) {
        return event < 0 ? this.about.start_reserved : this.reserved[event];
    }
}

// What a what-if has reserved after an event.
function whatIfAt({ events, bytes }, event) {
    let [low, high] = [0, events.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (events[middle] <= event) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return bytes[Math.max(0, low - 1)] ?? 0;
}

// How many of the pieces, which are sorted, begin at a place or below.
function countUpTo(pieces, place) {
    let [low, high] = [0, pieces.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (pieces[middle].place <= place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

// What stands where there is no frame: noStack, noFrameName, older are read with the stacks, whyNoStack is
// the device's.
const WORDS = {};

// What follows the last separator; a backslash may also be the beginning of a character that is written out.
const baseName = (file) => file.replace(/^.*(?:\/|\\(?!u[0-9a-f]{4}|x[0-9a-f]{2}))/, '');

// "train.py:42 forward"; compiled frames have no line, some no file.
function frameText(f, file) {
    const place = file && file !== '??' ? `${file}${f.line > 0 ? `:${f.line}` : ''} ` : '';
    return `${place}${f.name}`.trim() || WORDS.noFrameName;
}

class Stacks {
    static async read(meta) {
        const stacks = new Stacks();
        stacks.strings = meta.strings;
        Object.assign(WORDS, meta.words);
        [stacks.frames, stacks.table, stacks.list] = await Promise.all(
            ['frames', 'stacks', 'stackframes'].map((id) => readColumn(`${id}${meta.file_number || ''}`, Uint32Array)));
        stacks.count = stacks.table.length / 3;
        return stacks;
    }

    // Frames of a stack, innermost first.
    framesOf(stack) {
        const [first, n] = this.table.subarray(stack * 3, stack * 3 + 2);
        return Array.from(this.list.subarray(first, first + n), (f) => ({
            name: this.strings[this.frames[f * 3] >>> 1], internal: (this.frames[f * 3] & 1) !== 0,
            file: this.strings[this.frames[f * 3 + 1]], line: this.frames[f * 3 + 2] | 0 }));
    }

    // "train.py:42 forward" of the frame that tells most, as every verb names the stack; and the innermost where
    // that is another, of compiled ones the innermost of Python's: it says more than the allocator's.
    label(stack) {
        const frames = this.framesOf(stack);
        if (frames.length === 0) {
            return [WORDS.noStack, WORDS.whyNoStack];
        }
        const base = (f) => baseName(f.file);
        const text = (f) => frameText(f, base(f));
        const telling = this.table[stack * 3 + 2];
        const { name, internal, line } = frames[telling];
        if (internal && line <= 0 && name.includes('::')) { // an operator says all, its library nothing
            return [name, frameText({ name: '', line }, base(frames[telling])).replace(WORDS.noFrameName, '')];
        }
        const inner = frames.slice(0, telling).find((f) => f.line > 0 && f.file.endsWith('.py'));
        return [text(frames[telling]), inner ? `in ${text(inner)}` : ''];
    }

    // The labels of a legend: of stacks that are called the same the second line is the frame at which they differ,
    // as in pictures and tables (stack_difference.c).
    labels(stacks) {
        const labels = stacks.map((stack) => this.label(stack));
        const groups = new Map();
        labels.forEach((label, i) => {
            const name = label.join('\n');
            groups.set(name, [...(groups.get(name) ?? []), i]);
        });
        for (const group of groups.values()) {
            const frames = group.map((i) => this.framesOf(stacks[i]));
            const keys = frames.map((list) => list.map((f) => JSON.stringify([f.name, f.file, f.line])));
            const sets = keys.map((list) => new Set(list));
            group.forEach((at, member) => {
                const others = (key) => sets.filter((set) => set.has(key)).length - 1;
                const cost = frames[member].map((f, i) => others(keys[member][i]) * 3 + (f.file.endsWith('.py') ? 0 : f.name ? 1 : 2));
                const best = cost.reduce((least, c, i) => (others(keys[member][i]) + 1 < group.length && !(c >= cost[least]) ? i : least), -1);
                if (group.length === 1 || frames[member].length === 0) {
                    return;
                }
                const f = frames[member][best];
                const place = f ? [`differs at ${frameText(f, baseName(f.file))}`] : [labels[at][1]].filter(Boolean);
                const deep = f && others(keys[member][best]) === 0 ? [] : [`${frames[member].length} frames deep`];
                labels[at] = [labels[at][0], [...place, ...deep].join(', ')];
            });
        }
        return labels;
    }
}
