// ---- the allocator's state at the selected event ----

class State {
    constructor(app, canvas) {
        this.app = app;
        this.canvas = canvas;
        this.ruler = document.createElement('canvas').getContext('2d'); // measures text
        this.ruler.font = CANVAS_FONT;
        canvas.addEventListener('pointermove', (e) => this.app.tip(e, this.hover(e.offsetX, e.offsetY)));
        canvas.addEventListener('pointerleave', () => this.app.tip());
        canvas.parentElement.parentElement.addEventListener('scroll', () => this.state && this.paint());
        canvas.addEventListener('click', (e) => {
            const block = this.blockAt(e.offsetX, e.offsetY);
            this.app.choose(block ? block.alloc : NEVER);
        });
    }

    at(event) {
        return segmentsAt(this.app.device, event);
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
        const all = groups.flatMap((g) => g.list);
        const most = all.reduce((size, s) => Math.max(size, s.size), 1);
        const scale = width / Math.max(most, sum(all, 'size') / 60); // of small segments several a row
        let y = this.layoutRequest(width, scale);
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
            group.bottom = y;
        }
        return y;
    }

    // The request that failed at this event, to the scale of the segments: the room that it takes on top.
    layoutRequest(width, scale) {
        const device = this.app.device;
        const event = this.app.place.event;
        const failed = device.n > 0 && device.kindOf[device.action[event]] === 6;
        const bytes = failed ? device.sizes[device.size[event]] : 0;
        this.request = failed ? { bytes, w: Math.min(width, Math.max(6, bytes * scale)), cut: bytes * scale > width } : undefined;
        return failed ? 50 : 22;
    }

    // What the looks mean, and the request above the holes that it does not fit into.
    drawLegend(context, width) {
        context.textBaseline = 'middle';
        context.textAlign = 'left';
        let x = 0;
        for (const [words, colour, alpha] of [['free', '--paper', 1], ['empty segment', '--strip-dark', 1], ['freed, waits for its stream', '--ink', 0.35]]) {
            context.globalAlpha = alpha;
            context.fillStyle = cssColour(colour);
            context.fillRect(x, 4, 12, 12);
            context.globalAlpha = 1;
            context.strokeStyle = cssColour('--dim');
            context.strokeRect(x + 0.5, 4.5, 11, 11);
            context.fillStyle = cssColour('--dim');
            context.fillText(words, x + 17, 11);
            x += 17 + context.measureText(words).width + 16;
        }
        if (this.request) {
            const { bytes, w, cut } = this.request;
            context.strokeStyle = context.fillStyle = cssColour('--bad');
            context.globalAlpha = 0.15;
            context.fillRect(0, 26, w, 16);
            context.globalAlpha = 1;
            context.strokeRect(0.5, 26.5, w - 1, 15);
            const text = `asked for ${sizeText(bytes)}${cut ? ', more than a row' : ''}`;
            const inside = context.measureText(text).width + 8 < w;
            context.fillText(fitText(context, text, width), inside ? 4 : Math.min(w + 6, width - context.measureText(text).width), 34);
        }
    }

    draw() {
        const view = this.canvas.parentElement.parentElement;
        const width = view.clientWidth - 28;
        const started = performance.now();
        this.state = poolsOf(this.app.device, this.at(this.app.place.event));
        this.height = Math.max(60, this.layout(this.state, width));
        document.getElementById('state-space').style.height = `${this.height}px`;
        this.paint();
        this.lastMs = performance.now() - started;
    }

    // What of the segments is in sight: however many there are, the canvas is as high as the view.
    paint() {
        const view = this.canvas.parentElement.parentElement;
        const width = view.clientWidth - 28;
        const height = Math.max(60, Math.min(this.height, view.clientHeight));
        this.top = Math.max(0, Math.min(view.scrollTop, this.height - height));
        this.canvas.style.height = `${height}px`;
        this.canvas.style.top = `${this.top}px`;
        const context = prepareCanvas(this.canvas, width, height);
        context.translate(0, -this.top);
        this.drawLegend(context, width);
        for (const group of this.state) {
            if (group.y < this.top + height && group.bottom > this.top) {
                this.drawGroup(context, group, width, this.top, this.top + height);
            }
        }
        if (this.state.length === 0) {
            context.fillStyle = cssColour('--dim');
            context.fillText('nothing is reserved at this moment', 0, 20);
        }
    }

    drawGroup(context, group, width, from, to) {
        context.fillStyle = cssColour('--ink');
        context.textBaseline = 'middle';
        context.textAlign = 'left';
        group.title.forEach((line, i) => context.fillText(fitText(context, line, width), 0, group.y + 9 + 16 * i));
        for (const segment of group.list) {
            if (segment.y < to && segment.y + segment.h > from) {
                this.drawSegment(context, segment);
            }
        }
    }

    drawSegment(context, s) {
        const device = this.app.device;
        const scale = s.w / s.size;
        context.fillStyle = cssColour(s.blocks.length ? '--paper' : '--strip-dark');
        context.fillRect(s.x, s.y, s.w, s.h);
        for (const block of s.blocks) {
            const x = s.x + (block.place - s.place) * scale;
            const w = Math.max(0.7, block.size * scale);
            context.fillStyle = allocColour(device, block.alloc);
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

    // Brings the block of an allocation into sight.
    scrollTo(which) {
        const segment = (this.state || []).flatMap((g) => g.list).find((s) => s.blocks.some((b) => b.alloc === which));
        const view = this.canvas.parentElement.parentElement;
        if (segment) {
            view.scrollTop = segment.y - view.clientHeight / 2;
        }
    }

    segmentAt(x, yInView) {
        const y = yInView + this.top;
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
