// ---- segments and blocks at an event: what the columns say was there, nothing is guessed here ----

// Segments that are there after the event, with the blocks in them.
function segmentsAt(device, event) {
    const segments = joinMapped(device.segments.filter((s) => (s.from <= Math.max(0, event)) && event < s.to));
    const a = device.alloc;
    const blocks = [];
    for (let i = 0; i < a.n; i++) {
        if (a.start[i] <= event && event < a.end[i]) {
            blocks.push({ alloc: i, place: device.place[a.addr[i]], size: device.blockBytes(i), pending: a.requested[i] <= event });
        }
    }
    blocks.sort((x, y) => x.place - y.place);
    let s = 0;
    blocks.forEach((block, i) => {
        while (s < segments.length && segments[s].place + segments[s].size <= block.place) {
            s++;
        }
        const segment = segments[s];
        if (segment && block.place >= segment.place) {
            const next = i + 1 < blocks.length ? blocks[i + 1].place : Infinity;
            block.size = Math.min(block.size, Math.min(next, segment.place + segment.size) - block.place);
            if (block.size > 0) { // else it lies under another: a damaged file
                segment.blocks.push(block);
                segment.used += block.size;
            }
        }
    });
    return segments;
}

// Mapped pieces of an expandable segment that touch are one run.
function joinMapped(pieces) {
    const out = [];
    for (const s of pieces) {
        const last = out[out.length - 1];
        if (last && last.expandable && s.expandable && last.place + last.size === s.place &&
            last.stream === s.stream && last.pool === s.pool && last.large === s.large) {
            last.size += s.size;
        } else {
            out.push({ ...s, blocks: [], used: 0 });
        }
    }
    return out;
}

function largestHole(segment) {
    let largest = 0;
    let at = segment.place;
    for (const block of segment.blocks) {
        largest = Math.max(largest, block.place - at);
        at = block.place + block.size;
    }
    return Math.max(largest, segment.place + segment.size - at);
}

const sum = (list, key) => list.reduce((total, item) => total + item[key], 0);

// Segments by pool and stream, largest first.
function poolsOf(device, segments) {
    const groups = new Map();
    for (const segment of segments) {
        const pool = device.meta.pools[segment.pool];
        const isPrivate = pool && (pool[0] || pool[1]);
        const name = `${segment.large ? 'large' : 'small'} pool${isPrivate ? ` · private (${pool})` : ''} · stream ${device.meta.streams[segment.stream]}`;
        if (!groups.has(name)) {
            groups.set(name, []);
        }
        groups.get(name).push(segment);
    }
    return [...groups].map(([name, list]) => ({ name, list: list.sort((x, y) => y.size - x.size || x.place - y.place) }))
        .sort((x, y) => sum(y.list, 'size') - sum(x.list, 'size'));
}
