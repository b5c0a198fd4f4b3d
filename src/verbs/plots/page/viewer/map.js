// ---- addresses over time: each allocation a box, from its alloc to its free, at its place in its segment ----

class AddressMap {
    constructor(app, canvas) {
        this.app = app;
        this.canvas = canvas;
        canvas.addEventListener('pointermove', (e) => this.app.tip(e, this.hover(e.offsetX, e.offsetY)));
        canvas.addEventListener('pointerleave', () => this.app.tip());
        canvas.addEventListener('click', (e) => {
            const box = this.boxAt(e.offsetX, e.offsetY);
            if (box) {
                this.app.goToEnd(box.which, Math.floor(this.eventAt(e.offsetX)));
            }
        });
    }

    // Stretches of addresses that were reserved at some time in the window, one below the other without what lies between.
    stretches(from, to) {
        const pieces = this.app.device.segments.filter((s) => s.from < to && s.to > from);
        const out = [];
        for (const { place, size } of pieces) { // by place
            const last = out[out.length - 1];
            if (last && place <= last.place + last.size) {
                last.size = Math.max(last.size, place + size - last.place);
            } else {
                out.push({ place, size });
            }
        }
        let below = 0;
        for (const s of out) {
            s.below = below;
            below += s.size;
        }
        return { list: out, all: Math.max(1, below) };
    }

    draw() {
        const view = this.canvas.parentElement;
        const width = view.clientWidth - 28;
        const height = Math.max(120, view.clientHeight - 20);
        this.canvas.style.height = `${height}px`;
        const context = prepareCanvas(this.canvas, width, height);
        const { from, to } = this.app.place;
        const { list, all } = this.stretches(from, to);
        Object.assign(this, { width, height, boxes: [] });
        const x = (event) => Math.min(width, Math.max(0, width * (event - from) / (to - from)));
        list.forEach((s, i) => {
            context.fillStyle = cssColour(i % 2 ? '--strip' : '--panel');
            context.fillRect(0, height * s.below / all, width, Math.max(0.5, height * s.size / all));
        });
        const device = this.app.device;
        const a = device.alloc;
        for (let i = 0; i < a.n; i++) {
            if (a.start[i] < to && a.end[i] > from) {
                const place = device.place[a.addr[i]];
                const s = stretchOf(list, place);
                const h = s ? height * device.blockBytes(i) / all : 0;
                const x1 = x(Math.max(0, a.start[i]));
                const w = x(a.end[i] === NEVER ? device.n : a.end[i]) - x1;
                if (h >= 0.4 && w >= 0.2) {
                    const box = { which: i, x: x1, y: height * (s.below + place - s.place) / all, w: Math.max(0.5, w), h };
                    this.boxes.push(box);
                    context.fillStyle = i === this.app.chosen ? cssColour('--ink') : allocColour(device, i);
                    context.fillRect(box.x, box.y, box.w, h > 2 ? h - 0.5 : h);
                }
            }
        }
        context.fillStyle = cssColour('--accent');
        context.fillRect(x(this.app.place.event + 0.5), 0, 1, height);
    }

    eventAt(x) {
        const { from, to } = this.app.place;
        return Math.min(this.app.device.n - 1, Math.max(0, from + (to - from) * x / this.width));
    }

    boxAt(x, y) {
        return (this.boxes || []).findLast((b) => x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h);
    }

    hover(x, y) {
        const box = this.boxAt(x, y);
        if (!box) {
            return '';
        }
        const device = this.app.device;
        return [`${sizeText(bytesOf(device, box.which))} at ${device.addressText(device.alloc.addr[box.which])}`, `alive ${lifetime(this.app, box.which)}`,
            ...this.app.stacks.label(device.alloc.stack[box.which])].filter(Boolean).join('\n');
    }
}

// The stretch that holds a place, by halves.
function stretchOf(list, place) {
    let [low, high] = [0, list.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (list[middle].place + list[middle].size <= place) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return list[low] && list[low].place <= place ? list[low] : undefined;
}
