// ---- one allocation at a time: how bands part at close zoom, and what lived between two events ----

const MOST_SINGLES = 4000;

// What is alive after an event, by band from the ground up, in the order of birth.
function aliveByBand(device, event) {
    const bands = Array.from({ length: device.bands.length + 1 }, () => []);
    device.eachAlive(event, (which) => bands[device.bandOfAlloc(which)].push(which));
    return bands;
}

const bytesOf = (device, which) => device.sizes[device.alloc.size[which]];

// The allocation at a height of the chart, in bytes from the ground; NEVER: none.
function allocationAt(device, event, bytes) {
    for (const which of aliveByBand(device, event).flat()) {
        bytes -= bytesOf(device, which);
        if (bytes < 0) {
            return which;
        }
    }
    return NEVER;
}

// Calls back for each event of [from, to) with what is alive after it, from the ground up; false when that is too much
// to tell apart.
function eachStanding(device, from, to, call) {
    const bands = aliveByBand(device, from);
    if (bands.reduce((n, band) => n + band.length, 0) > MOST_SINGLES) {
        return false;
    }
    for (let event = from; event < to; event++) {
        const which = device.eventAlloc[event];
        const kind = device.kindOf[device.action[event]];
        if (event > from && which !== NEVER && (kind === 1 || kind === 3)) {
            const band = bands[device.bandOfAlloc(which)];
            if (kind === 1) {
                band.push(which);
            } else {
                band.splice(band.indexOf(which), 1);
            }
        }
        call(event, bands);
    }
    return true;
}

// What was allocated in the events [from, to) and is alive behind them, and how what is alive changed, by stack.
function between(device, from, to) {
    const a = device.alloc;
    const stacks = new Map();
    const row = (stack) => {
        if (!stacks.has(stack)) {
            stacks.set(stack, { stack, allocated: 0, count: 0, kept: 0, change: 0 });
        }
        return stacks.get(stack);
    };
    const last = to - 1;
    for (let i = 0; i < a.n; i++) {
        const bytes = bytesOf(device, i);
        const born = a.start[i] >= from && a.start[i] <= last;
        const before = a.start[i] < from && a.end[i] >= from;
        const after = a.start[i] <= last && last < a.end[i];
        if (born) {
            const r = row(a.stack[i]);
            r.allocated += bytes;
            r.count++;
            r.kept += after ? bytes : 0;
        }
        if (before !== after) {
            row(a.stack[i]).change += after ? bytes : -bytes;
        }
    }
    const rows = [...stacks.values()].sort((x, y) => y.kept - x.kept || Math.abs(y.change) - Math.abs(x.change) || y.allocated - x.allocated);
    return { rows, allocated: sum(rows, 'allocated'), count: sum(rows, 'count'), kept: sum(rows, 'kept'), change: sum(rows, 'change') };
}
