// ---- what the chart stacks: bands of bytes whose totals are known after any event ----

const CHECKPOINT = 16384;
const MOST_BANDS = 14;

// `step(totals, event)` does to the totals of all bands what an event does; `before`: what they are before the first.
class Layers {
    constructor(n, before, step) {
        Object.assign(this, { width: before.length, step });
        const totals = before.slice();
        this.checkpoints = [totals.slice()];
        for (let i = 0; i < n; i++) {
            step(totals, i);
            if ((i + 1) % CHECKPOINT === 0) {
                this.checkpoints.push(totals.slice());
            }
        }
    }

    // Of events that ascend: the totals of the first, then those of the next.
    totalsAt(events) {
        const { width } = this;
        const totals = new Float64Array(events.length * width);
        const checkpoint = Math.floor(Math.max(0, events[0] ?? 0) / CHECKPOINT);
        const sums = this.checkpoints[checkpoint].slice();
        let i = checkpoint * CHECKPOINT - 1;
        for (let c = 0; c < events.length; c++) {
            while (i < events[c]) {
                this.step(sums, ++i);
            }
            totals.set(sums, c * width);
        }
        return totals;
    }
}

// A step of memory in use: change(totals, allocation, 1 | -1) for what begins and what ends with the event. It runs for
// millions of events, so it makes no objects.
function stepOfMemory(device, change) {
    const { action, kindOf, eventAlloc, unseenEnds } = device;
    const none = NEVER;
    return (totals, event) => {
        const which = eventAlloc[event];
        const kind = kindOf[action[event]];
        if (which === none || (kind !== 1 && kind !== 3)) {
            return;
        }
        change(totals, which, kind === 1 ? 1 : -1);
        if (kind === 1 && unseenEnds.size && unseenEnds.has(event)) {
            change(totals, unseenEnds.get(event), -1);
        }
    };
}

// Layers of requested bytes, of the bands that `bandOf` gives each allocation.
function layersOfMemory(device, width, bandOf) {
    const { sizes, alloc: { size } } = device;
    const change = (totals, which, sign) => { totals[bandOf(which)] += sign * sizes[size[which]]; };
    const before = new Float64Array(width);
    for (let g = 0; g < device.ghostCount; g++) {
        change(before, g, 1);
    }
    return new Layers(device.n, before, stepOfMemory(device, change));
}

// How reserved memory changes, by event: { before, step }. `bandOf` gives each piece its band.
function changesOfPieces(device, width, bandOf) {
    const before = new Float64Array(width);
    const changes = [];
    for (const piece of device.segments) {
        const band = bandOf(piece);
        if (piece.from === 0) {
            before[band] += piece.size;
        } else {
            changes.push([piece.from, band, piece.size]);
        }
        if (piece.to !== NEVER) {
            changes.push([piece.to, band, -piece.size]);
        }
    }
    const byEvent = new Map();
    for (const [event, band, bytes] of changes) {
        byEvent.set(event, [...(byEvent.get(event) ?? []), band, bytes]);
    }
    const step = (totals, event) => {
        const list = byEvent.get(event) ?? [];
        for (let i = 0; i < list.length; i += 2) {
            totals[list[i]] += list[i + 1];
        }
    };
    return { before, step };
}

// ---- what allocations are told apart by ----

const PALETTE = {
    light: ['#4e79a7', '#f28e2b', '#59a14f', '#b07aa1', '#e15759', '#76b7b2', '#edc948', '#9c755f', '#ff9da7', '#2f5d8a', '#86bc86', '#d37295', '#b6992d', '#499894'],
    dark: ['#6d9dd1', '#f4a556', '#77c26c', '#c99abb', '#ec7d7f', '#92cfca', '#f2d878', '#bb9481', '#ffb8c0', '#7ba7d9', '#a3d4a3', '#e09bb5', '#d1b44e', '#6cb9b4'] };

const AGES = 8;

// How each is told apart: a key for an allocation, the words for a key, and whether the file has it.
const GROUPINGS = {
    stack: { words: 'stack' },
    category: {
        words: 'category', has: (device) => device.categories.length > 0,
        key: (device, which) => device.categories[which] & 15,
        name: (device, key) => device.meta.categories[key] },
    stream: {
        words: 'stream', has: (device) => device.meta.streams.length > 1,
        key: (device, which) => streamOf(device, which),
        name: (device, key) => `stream ${device.meta.streams[key]}` },
    pool: {
        words: 'pool', has: (device) => device.segments.length > 0,
        key: (device, which) => poolKey(device.pieceOf(which)),
        name: (device, key) => poolName(device, key) },
    label: {
        words: 'label', has: (device) => device.labels.length > 0,
        key: (device, which) => device.labels[which],
        name: (device, key) => (key ? device.meta.strings[key] : 'without a label') },
    age: {
        words: 'age', has: (device) => device.n > 0,
        key: (device, which) => (device.alloc.start[which] < 0 ? 0 : 1 + Math.floor(device.alloc.start[which] * AGES / device.n)),
        name: (device, key) => (key === 0 ? WORDS.older : `since events ${countText(Math.ceil((key - 1) * device.n / AGES))} to ${countText(Math.ceil(key * device.n / AGES) - 1)}`) } };

// What is older than the trace names no stream, its segment does.
const streamOf = (device, which) => (which < device.ghostCount ? device.pieceOf(which)?.stream ?? 0 : device.alloc.stream[which]);

// Pools of a device: private ones by their id, the default one as its small and its large half.
const poolKey = (piece) => (piece === undefined ? -1 : (piece.pool === NEVER ? 0 : piece.pool) * 2 + (piece.large ? 1 : 0));

function poolName(device, key) {
    const pool = device.meta.pools[key >> 1];
    const half = key & 1 ? 'large' : 'small';
    return key < 0 ? 'in no segment that is known' : pool && (pool[0] || pool[1]) ? `private pool (${pool}), ${half}` : `${half} pool`;
}

// { bands, bandOf(which) } of a way to tell allocations apart; the last number stands for the others.
function groupBy(device, by) {
    const { key, name } = GROUPINGS[by];
    const keys = new Int32Array(device.alloc.n);
    const atPeak = new Map();
    const ever = new Map();
    for (let i = 0; i < keys.length; i++) {
        keys[i] = key(device, i);
        ever.set(keys[i], (ever.get(keys[i]) ?? 0) + 1);
    }
    device.eachAlive(device.peak, (which, bytes) => atPeak.set(keys[which], (atPeak.get(keys[which]) ?? 0) + bytes));
    const shown = [...ever.keys()].sort((x, y) => (atPeak.get(y) ?? 0) - (atPeak.get(x) ?? 0) || ever.get(y) - ever.get(x))
        .slice(0, MOST_BANDS).sort((x, y) => x - y);
    const bandOfKey = new Map(shown.map((one, band) => [one, band]));
    const bands = shown.map((one, band) => ({ stack: NEVER, name: name(device, one), light: PALETTE.light[band], dark: PALETTE.dark[band], bytes: atPeak.get(one) ?? 0 }));
    return { bands, bandOf: (which) => bandOfKey.get(keys[which]) ?? bands.length, others: ever.size - shown.length };
}

// ---- the charts ----

// Reserved memory, by the stacks that needed it.
function chartOfSegments(device) {
    const most = new Map();
    for (const { stack, size, from, to } of device.segments) {
        most.set(stack, (most.get(stack) ?? 0) + size * Math.max(1, Math.min(to, device.n) - from));
    }
    const shown = [...most].sort((x, y) => y[1] - x[1]).slice(0, MOST_BANDS).map(([stack]) => stack);
    const known = new Map(device.stackBands.map((band) => [band.stack, band]));
    const bands = shown.map((stack, i) => ({ stack, light: known.get(stack)?.light ?? PALETTE.light[i], dark: known.get(stack)?.dark ?? PALETTE.dark[i] }));
    const bandOfStack = new Map(shown.map((stack, band) => [stack, band]));
    const { before, step } = changesOfPieces(device, bands.length + 1, ({ stack }) => bandOfStack.get(stack) ?? bands.length);
    return { bands, layers: new Layers(device.n, before, step), others: most.size - shown.length, reserved: true };
}

// Each pool as an envelope: what is in use, and above it what the pool holds besides.
function chartOfPools(device) {
    const bytes = new Map();
    for (const piece of device.segments) {
        bytes.set(poolKey(piece), (bytes.get(poolKey(piece)) ?? 0) + piece.size);
    }
    const shown = [...bytes].sort((x, y) => y[1] - x[1]).slice(0, MOST_BANDS).map(([key]) => key);
    const numbers = new Map(shown.map((key, i) => [key, i]));
    const bands = shown.flatMap((key, i) => [['in use', 1], ['reserved, free', 0.3]].map(([words, alpha]) =>
        ({ stack: NEVER, name: `${poolName(device, key)}: ${words}`, light: PALETTE.light[i], dark: PALETTE.dark[i], alpha })));
    const bandOf = (piece) => 2 * (numbers.get(poolKey(piece)) ?? shown.length);
    const { before, step } = changesOfPieces(device, bands.length + 2, (piece) => bandOf(piece) + 1);
    const change = (totals, which, sign) => {
        const band = bandOf(device.pieceOf(which));
        totals[band] += sign * device.blockBytes(which);
        totals[band + 1] -= sign * device.blockBytes(which);
    };
    for (let g = 0; g < device.ghostCount; g++) {
        change(before, g, 1);
    }
    const inUse = stepOfMemory(device, change);
    const both = (totals, event) => {
        step(totals, event);
        inUse(totals, event);
    };
    return { bands, layers: new Layers(device.n, before, both), others: bytes.size - shown.length, reserved: true };
}

const CHARTS = { memory: 'memory in use', segments: 'reserved, by who needed it', pools: 'pools with what they hold' };
