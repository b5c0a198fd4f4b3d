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
            group.bottom = y;
        }
        return y;
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
        context.fillStyle = cssColour('--paper');
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
