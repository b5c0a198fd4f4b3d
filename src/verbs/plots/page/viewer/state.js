// ---- the allocator's state at the selected event ----

class State {
    constructor(app, canvas) {
        this.app = app;
        this.canvas = canvas;
        this.ruler = document.createElement('canvas').getContext('2d'); // measures text
        this.ruler.font = CANVAS_FONT;
        canvas.addEventListener('pointermove', (e) => this.app.tip(e, this.hover(e.offsetX, e.offsetY)));
        canvas.addEventListener('pointerleave', () => this.app.tip());
        canvas.addEventListener('click', (e) => {
            const block = this.blockAt(e.offsetX, e.offsetY);
            this.app.choose(block ? block.alloc : NEVER);
        });
    }

    // Segments that are there after the event, with the blocks in them.
    at(event) {
        const device = this.app.device;
        const a = device.alloc;
        const segments = device.segments.filter((s) => (s.from <= Math.max(0, event)) && event < s.to)
            .map((s) => ({ ...s, blocks: [], used: 0 }));
        const blocks = [];
        for (let i = 0; i < a.n; i++) {
            if (a.start[i] <= event && event < a.end[i]) {
                blocks.push({ alloc: i, place: device.place[a.addr[i]], size: device.blockBytes(i), pending: a.requested[i] <= event });
            }
        }
        blocks.sort((x, y) => x.place - y.place);
        let s = 0;
        for (const block of blocks) {
            while (s < segments.length && segments[s].place + segments[s].size <= block.place) {
                s++;
            }
            if (s < segments.length && block.place >= segments[s].place) {
                const segment = segments[s];
                block.size = Math.min(block.size, segment.place + segment.size - block.place);
                segment.blocks.push(block);
                segment.used += block.size;
            }
        }
        return joinMapped(segments);
    }

    groups(segments) {
        const device = this.app.device;
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

    // Places segments in rows: the largest is as wide as the view.
    // The title of a group in one line, or in two where that is too long for the view.
    titleLines(group, width) {
        const reserved = sum(group.list, 'size');
        const used = sum(group.list, 'used');
        const hole = Math.max(0, ...group.list.map(largestHole));
        const figures = `${sizeText(reserved)} reserved, ${sizeText(reserved - used)} free, largest hole ${sizeText(hole)}`;
        const whole = `${group.name} \u2014 ${figures}`;
        return this.ruler.measureText(whole).width <= width ? [whole] : [group.name, figures];
    }

    layout(groups, width) {
        const rowHeight = 20;
        const largest = Math.max(1, ...groups.flatMap((g) => g.list.map((s) => s.size)));
        const scale = width / largest;
        let y = 0;
        for (const group of groups) {
            group.y = y;
            group.title = this.titleLines(group, width);
            y += 4 + 16 * group.title.length;
            let x = 0;
            for (const segment of group.list) {
                const w = Math.max(6, segment.size * scale);
                if (x && x + w > width) {
                    x = 0;
                    y += rowHeight;
                }
                Object.assign(segment, { x, y, w: w - 2, h: rowHeight - 4 });
                x += w + 2;
            }
            y += rowHeight + 8;
        }
        return y;
    }

    draw() {
        const view = this.canvas.parentElement;
        const width = view.clientWidth - 28;
        const started = performance.now();
        this.state = this.groups(this.at(this.app.place.event));
        const height = Math.max(60, Math.min(16000, this.layout(this.state, width)));
        this.canvas.style.height = `${height}px`;
        const context = prepareCanvas(this.canvas, width, height);
        for (const group of this.state) {
            this.drawGroup(context, group, width);
        }
        if (this.state.length === 0) {
            context.fillStyle = cssColour('--dim');
            context.fillText('nothing is reserved at this moment', 0, 20);
        }
        this.lastMs = performance.now() - started;
    }

    drawGroup(context, group, width) {
        context.fillStyle = cssColour('--ink');
        context.textBaseline = 'middle';
        context.textAlign = 'left';
        group.title.forEach((line, i) => context.fillText(fitText(context, line, width), 0, group.y + 9 + 16 * i));
        for (const segment of group.list) {
            this.drawSegment(context, segment);
        }
    }

    drawSegment(context, s) {
        const device = this.app.device;
        const scale = s.w / s.size;
        context.fillStyle = cssColour('--paper');
        context.fillRect(s.x, s.y, s.w, s.h);
        for (const block of s.blocks) {
            const x = s.x + (block.place - s.place) * scale;
            const w = Math.max(0.7, block.size * scale);
            const stack = device.alloc.stack[block.alloc];
            context.fillStyle = stackColour(device, stack);
            context.globalAlpha = block.pending ? 0.35 : 1;
            context.fillRect(x, s.y, w > 3 ? w - 0.6 : w, s.h);
            context.globalAlpha = 1;
            if (block.alloc === this.app.chosen) {
                context.strokeStyle = cssColour('--ink');
                context.lineWidth = 2;
                context.strokeRect(x + 1, s.y + 1, Math.max(2, w - 2), s.h - 2);
            }
        }
        context.strokeStyle = cssColour('--dim');
        context.lineWidth = 0.7;
        context.strokeRect(s.x, s.y, s.w, s.h);
    }

    segmentAt(x, y) {
        return (this.state || []).flatMap((g) => g.list)
            .find((s) => x >= s.x && x <= s.x + s.w && y >= s.y && y <= s.y + s.h);
    }

    blockAt(x, y) {
        const s = this.segmentAt(x, y);
        const place = s ? s.place + (x - s.x) / s.w * s.size : 0;
        return s && s.blocks.find((b) => place >= b.place && place < b.place + b.size);
    }

    hover(x, y) {
        const s = this.segmentAt(x, y);
        if (!s) {
            return '';
        }
        const device = this.app.device;
        const head = `segment ${device.addressText(s.addr)}, ${sizeText(s.size)}, ${sizeText(s.size - s.used)} free`;
        const block = this.blockAt(x, y);
        if (!block) {
            return `${head}\nfree here`;
        }
        const [name, under] = this.app.stacks.label(device.alloc.stack[block.alloc]);
        return [head, `${sizeText(block.size)}${block.pending ? ', freed, waiting for its stream' : ''}`, name, under].filter(Boolean).join('\n');
    }
}

const sum = (list, key) => list.reduce((total, item) => total + item[key], 0);

// Mapped pieces of an expandable segment that touch are one run.
function joinMapped(segments) {
    const out = [];
    for (const s of segments) {
        const last = out[out.length - 1];
        if (last && last.expandable && s.expandable && last.place + last.size === s.place &&
            last.stream === s.stream && last.pool === s.pool) {
            last.size += s.size;
            last.used += s.used;
            last.large = last.large || s.large;
            last.blocks.push(...s.blocks);
        } else {
            out.push(s);
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
