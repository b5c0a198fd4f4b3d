// ---- in words: figures, legend, settings, the selected thing ----

function element(name, className, text) {
    const e = document.createElement(name);
    e.className = className || '';
    e.textContent = text ?? '';
    return e;
}

function table(rows) {
    const t = element('table');
    for (const [name, value] of rows) {
        const row = element('tr');
        row.append(element('td', '', name), element('td', '', value));
        t.append(row);
    }
    return t;
}

function showFigures(app) {
    const about = app.device.about;
    const figure = ([name, value]) => {
        const box = element('div');
        box.append(element('span', 'dt', name), document.createTextNode(' '), element('span', 'dd', value));
        box.dataset.figure = name;
        return box;
    };
    const most = (app.device.n ? [['peak', about.peak_text], ['reserved at most', about.reserved_peak_text]] : []).filter(([, value]) => value);
    const end = app.device.n ? [element('div', 'when', 'at the end:')] : [];
    document.getElementById('figures').replaceChildren(...most.map(figure), ...end, ...(about.figures || []).map(figure));
    document.getElementById('story').replaceChildren(
        ...[['oom', about.doubt && `${about.doubt[0].toUpperCase()}${about.doubt.slice(1)}`], ['growth', about.growth], ['oom', about.oom]].filter(([, text]) => text).map(([name, text]) => element('p', name, text)));
}

function legendEntry(colour, name, under, bytes, whole, press) {
    const entry = element('div', 'entry');
    const swatch = element('span', 'swatch');
    swatch.style.background = colour;
    const label = element(press ? 'button' : 'span', 'name', name);
    if (press) {
        label.addEventListener('click', press);
    }
    label.title = name;
    entry.append(swatch, label, element('span', 'bytes', sizeText(bytes)));
    const second = element('span', 'under', under);
    second.title = under;
    entry.append(second, element('span', 'share', share(bytes, whole)));
    return entry;
}

function showLegend(app) {
    const device = app.device;
    const chart = device.chart(app.place.chart);
    const totals = chart.layers.totalsAt([device.peak]);
    const whole = totals.reduce((total, bytes) => total + bytes, 0);
    const heading = !device.n ? 'Alive in the file' : chart.reserved ? 'Reserved at the peak of what is alive' : 'Held at the peak';
    const list = element('div');
    const bands = chart.bands.map((band, i) => ({ ...band, i, bytes: totals[i] }));
    bands.sort((x, y) => y.bytes - x.bytes); // most first: what does not fit is what matters least
    const labels = app.stacks.labels(bands.map(({ stack }) => (stack === NEVER ? 0 : Math.max(0, stack))));
    bands.forEach(({ stack, bytes, i, alpha }, at) => {
        const [name, under] = stack < 0 || stack === NEVER ? bandLabel(app, chart, i) : labels[at];
        const entry = legendEntry(bandColour(chart.bands, i), name, under, bytes, whole, () => showBand(app, chart, i, bytes, device.peak));
        entry.firstChild.style.opacity = alpha ?? 1;
        list.append(entry);
    });
    const others = totals.subarray(bands.length).reduce((total, bytes) => total + bytes, 0);
    if (others > 0) {
        list.append(legendEntry(OTHERS[theme()], chart.others === 1 ? '[1 other]' : bandLabel(app, chart, bands.length)[0], '', others, whole));
    }
    const total = element('div', 'entry total');
    total.append(element('span'), element('span', 'name', 'TOTAL'), element('span', 'bytes', sizeText(whole)));
    const line = app.place.chart === 'segments' ? [element('p', 'none', 'The pale line: what of it is in use.')] : [];
    document.getElementById('legend').replaceChildren(choices(app), ...whatIfLegend(device), element('h2', '', heading), list, total, ...line);
}

// The lines of what would be reserved: the most of each, and beside it what was recorded.
function whatIfLegend(device) {
    const lines = device.whatIfs.map((run, i) => {
        const most = run.bytes.reduce((top, bytes) => Math.max(top, bytes), 0);
        const refused = run.refusals ? `${countText(run.refusals)} refused` : 'nothing refused';
        return legendEntry(whatIfColour(i), run.conf, `${refused}${run.exact ? '' : '; the recording is not replayed exactly'}`, most, device.mostReserved());
    });
    return lines.length ? [element('h2', '', `Reserved at most under other settings (recorded: ${device.about.reserved_peak_text})`), ...lines] : [];
}

// What the chart shows, and what colours tell apart.
function choices(app) {
    const box = element('div', 'choices');
    const choice = (words, id, options, chosen, change) => {
        const label = element('label', '', `${words} `);
        const select = element('select');
        select.id = id;
        select.append(...options.map(([value, text]) => new Option(text, value, false, value === chosen)));
        select.addEventListener('change', () => { change(select.value); document.getElementById(id).focus(); });
        label.append(select);
        box.append(label);
    };
    const device = app.device;
    choice('chart', 'chart-of', Object.entries(CHARTS).filter(([name]) => name === 'memory' || device.segments.length), app.place.chart, (name) => app.showChart(name));
    choice('colours by', 'colour-by', Object.entries(GROUPINGS).filter(([, { has }]) => !has || has(device)).map(([name, { words }]) => [name, words]), device.by, (by) => app.colourBy(by));
    return box;
}

function showSettings(app) {
    const view = document.getElementById('settings-view');
    const rows = app.meta.settings.map(([name, value]) => [name, settingText(name, value)]);
    view.replaceChildren(rows.length ? table(rows)
        : element('p', 'none', 'This snapshot does not say how its allocator was set (PyTorch writes that since 2.3).'));
}

function settingText(name, value) {
    const unlimited = name === 'max_split_size' && (value < 0 || Number(value) > Number.MAX_SAFE_INTEGER);
    return unlimited ? 'unlimited' : value === '' ? 'not set' : String(value);
}

// Frames, innermost first, a line each: the folder is in the title. Runs of internal ones are folded.
// Below them the forward pass of the allocation, or of those that have the stack.
function frameList(app, stack, alloc = NEVER) {
    const list = element('ol');
    const line = (f) => {
        const item = element('li', f.internal ? 'internal' : '', frameText(f, baseName(f.file)));
        item.title = frameText(f, f.file);
        return item;
    };
    const frames = app.stacks.framesOf(stack);
    for (let i = 0; i < frames.length;) {
        let end = i;
        while (end < frames.length && frames[end].internal) {
            end++;
        }
        if (end - i > 1) {
            const folded = element('details');
            const inner = element('ol');
            inner.append(...frames.slice(i, end).map(line));
            folded.append(element('summary', '', `${end - i} internal frames`), inner);
            const item = element('li');
            item.append(folded);
            list.append(item);
            i = end;
        } else {
            list.append(line(frames[i++]));
        }
    }
    const [forward, others] = alloc === NEVER ? app.device.forwardOfStack(stack) : [app.device.forwardOf(alloc), 0];
    list.append(...forward.map((line) => element('li', 'forward', `of the forward pass: ${line}`)));
    if (others) {
        list.append(element('li', 'forward', `and of ${countText(others)} other ${others === 1 ? 'call' : 'calls'} of the forward pass`));
    }
    return list;
}

const nodeRow = (app, stack) => (app.meta.nodes[stack] ? [['node', app.meta.nodes[stack]]] : []);

function lifetime(app, which) {
    const device = app.device;
    const a = device.alloc;
    const from = a.start[which] < 0 ? `${WORDS.older},` : `since event ${countText(a.start[which])}`;
    const to = a.end[which] === NEVER ? `${a.start[which] < 0 ? '' : ','} still at the end` : ` until event ${countText(a.end[which])}`;
    const timed = device.about.base_us && a.start[which] >= 0 && a.end[which] !== NEVER;
    return `${from}${to}${timed ? `, ${durationText(device.when[a.end[which]] - device.when[a.start[which]])}` : ''}`;
}

function showDetail(app) {
    const device = app.device;
    const panel = document.getElementById('detail');
    const event = app.place.event;
    const which = app.chosen !== NEVER ? app.chosen : device.eventAlloc[event] ?? NEVER;
    if (device.n === 0 && which === NEVER) {
        panel.replaceChildren(element('p', 'none', 'No events were recorded: only what is alive in the file can be shown.'));
        return;
    }
    const ofBlock = app.chosen !== NEVER;
    const stack = which !== NEVER ? device.alloc.stack[which] || device.stack[event] || 0 : device.stack[event];
    const rows = ofBlock ? [] : [['event', `${countText(event)}, ${device.meta.actions[device.action[event]]}`]];
    if (!ofBlock && device.about.base_us) {
        rows.push(['time', `${durationText(device.when[event])} after the first\n${new Date((device.about.base_us + device.when[event]) / 1000).toISOString()}`]);
    }
    const around = ofBlock ? [] : device.annotations.at(event);
    if (around.length) {
        rows.push(['annotations', device.annotations.lines(around)]);
    }
    if (which !== NEVER) {
        rows.push(['address', device.addressText(device.alloc.addr[which])], ['requested', exactSize(device.sizes[device.alloc.size[which]])],
            ['alive', lifetime(app, which)], ['stream', device.meta.streams[device.alloc.stream[which]]], ...device.toldOf(which));
    } else if (device.kindOf[device.action[event]] === 6) {
        rows.push(['asked for', exactSize(device.sizes[device.size[event]])], ['free on the device', exactSize(Number(device.addrs[device.addr[event]]))]);
    } else if (device.meta.actions[device.action[event]] === 'snapshot') {
        rows.push(['active then', exactSize(device.sizes[device.size[event]])]); // PyTorch writes no more
    } else {
        rows.push(['address', device.addressText(device.addr[event])], ['size', exactSize(device.sizes[device.size[event]])]);
    }
    rows.push(...nodeRow(app, stack));
    const title = ofBlock ? 'Block' : `Event ${countText(event)}`;
    panel.replaceChildren(element('h2', '', `${title}: ${headline(device, event, which, ofBlock)}`), actions(app, which),
        app.stacks.framesOf(stack).length ? frameList(app, stack, which) : element('p', 'none', 'No stack was recorded for this.'), table(rows));
}

// "alloc 31.25 MiB"
function headline(device, event, which, ofBlock) {
    const bytes = which === NEVER ? device.sizes[device.size[event]] : device.sizes[device.alloc.size[which]];
    return `${ofBlock ? '' : `${device.meta.actions[device.action[event]]} `}${sizeText(bytes)}`;
}

const signed = (bytes) => `${bytes < 0 ? '\u2212' : '+'}${sizeText(Math.abs(bytes))}`;

// What a range dragged over the chart holds: allocated there and still alive, and the difference of its ends, by stack.
function showRange(app) {
    const { from, to } = app.range;
    const found = between(app.device, from, to);
    const list = element('table', 'range');
    const line = (...cells) => {
        const row = element('tr');
        row.append(...cells.map((text) => element('td', '', text)));
        list.append(row);
    };
    line('still alive', 'allocated', 'change', 'by');
    for (const r of found.rows.slice(0, 40)) {
        line(sizeText(r.kept), `${sizeText(r.allocated)} in ${countText(r.count)}`, signed(r.change), app.stacks.label(r.stack)[0]);
    }
    line(sizeText(found.kept), `${sizeText(found.allocated)} in ${countText(found.count)}`, signed(found.change), 'TOTAL');
    const more = found.rows.length > 40 ? [element('p', 'none', `and ${countText(found.rows.length - 40)} stacks more, which the total includes`)] : [];
    document.getElementById('detail').replaceChildren(element('h2', '', `Events ${countText(from)} to ${countText(to - 1)}`), list, ...more);
}

// A row of the table of stacks.
function showStack(app, row) {
    document.getElementById('detail').replaceChildren(element('h2', '', row.name), frameList(app, row.stack),
        table([['alive', exactSize(row.bytes)], ['allocations', countText(row.count)], ['largest', exactSize(row.largest)], ...nodeRow(app, row.stack)]));
}

// From an allocation to its two ends and to its block.
function actions(app, which) {
    const box = element('div', 'actions');
    const go = (words, call) => {
        const button = element('button', '', words);
        button.addEventListener('click', call);
        box.append(button);
    };
    if (which !== NEVER) {
        const { start, end } = app.device.alloc;
        if (start[which] >= 0) {
            go('to its alloc', () => app.goToEnd(which, start[which]));
        }
        if (end[which] !== NEVER) {
            go('to its free', () => app.goToEnd(which, end[which]));
        }
        go('to its block', () => app.goToBlock(which));
    }
    return box;
}

// Two lines: what the band is, what is older than the trace, or the others.
function bandLabel(app, chart, band) {
    const { stack, name } = chart.bands[band] ?? {};
    return name ? [name, ''] : stack === undefined ? [`[${chart.others} others]`, ''] : stack < 0 ? [WORDS.older, ''] : app.stacks.label(stack);
}

// What the chart shows under the pointer: a band at an event.
function showBand(app, chart, band, bytes, event) {
    const device = app.device;
    const { stack = -1 } = chart.bands[band] ?? {};
    const one = stack >= 0 && stack !== NEVER;
    const byStack = new Map();
    device.eachAlive(event, (which, size) => {
        if (!chart.reserved && device.bandOfAlloc(which) === band) {
            byStack.set(device.alloc.stack[which], (byStack.get(device.alloc.stack[which]) || 0) + size);
        }
    });
    const lines = [...byStack].sort((x, y) => y[1] - x[1]).slice(0, 12).map(([of, size]) => `${sizeText(size)} ${app.stacks.label(of)[0]}`);
    const rows = [[event < 0 ? 'before' : 'event', countText(Math.max(0, event))], [chart.reserved ? 'bytes' : 'alive of it', exactSize(bytes)], ...(one || !lines.length ? [] : [['largest', lines.join('\n')]])];
    document.getElementById('detail').replaceChildren(element('h2', '', bandLabel(app, chart, band)[0]), ...(one ? [frameList(app, stack)] : []), table(rows));
}

const exactSize = (bytes) => (bytes < 1024 ? sizeText(bytes) : `${sizeText(bytes)} (${countText(bytes)} B)`);
