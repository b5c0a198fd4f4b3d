// ---- stacks of what is alive at the selected event ----

const FLAME_ROW = 19;

class Flame {
    constructor(app, canvas) {
        this.app = app;
        this.canvas = canvas;
        this.zoomed = null;
        canvas.addEventListener('click', (e) => {
            const node = this.nodeAt(e.offsetX, e.offsetY);
            this.zoomed = node && node !== this.zoomed && node.parent ? node.path : null;
            this.draw();
        });
        canvas.addEventListener('pointermove', (e) => {
            const node = this.nodeAt(e.offsetX, e.offsetY);
            this.app.tip(e, node ? `${node.name}\n${sizeText(node.bytes)}, ${share(node.bytes, this.root.bytes)}\n${node.file}` : '');
        });
        canvas.addEventListener('pointerleave', () => this.app.tip());
    }

    // Frames from the outermost to the innermost; equal ones beside each other are one.
    build(event) {
        const root = { name: 'all that is alive', file: '', bytes: 0, children: new Map(), parent: null, path: '' };
        for (const [stack, bytes] of this.app.device.bytesByStack(event)) {
            let node = root;
            node.bytes += bytes;
            const frames = this.app.stacks.framesOf(stack).reverse();
            for (const f of frames.length ? frames : [{ name: WORDS.noStack, file: '', line: 0 }]) {
                const place = frameText({ ...f, name: '' }, baseName(f.file));
                const name = f.name ? `${f.name}  ${f.file && f.file !== '??' ? place : ''}`.trim() : place;
                const key = `${f.file}\n${f.line}\n${f.name}`;
                if (!node.children.has(key)) {
                    node.children.set(key, { name, file: f.file, internal: f.internal, bytes: 0, children: new Map(), parent: node, path: `${node.path}\0${key}` });
                }
                node = node.children.get(key);
                node.bytes += bytes;
            }
        }
        return root;
    }

    find(root, path) {
        let node = root;
        while (path && node.path !== path) {
            node = [...node.children.values()].find((child) => path === child.path || path.startsWith(`${child.path}\0`));
            if (!node) {
                return root;
            }
        }
        return node;
    }

    place(node, x, width, y, boxes) {
        boxes.push({ node, x, width, y });
        let at = x;
        for (const child of [...node.children.values()].sort((a, b) => b.bytes - a.bytes)) {
            const w = width * child.bytes / node.bytes;
            if (w >= 0.5) {
                this.place(child, at, w, y + FLAME_ROW, boxes);
            }
            at += w;
        }
    }

    draw() {
        const width = this.canvas.parentElement.clientWidth - 28;
        this.root = this.build(this.app.place.event);
        this.boxes = [];
        this.place(this.find(this.root, this.zoomed), 0, width, 0, this.boxes);
        const height = Math.max(...this.boxes.map((b) => b.y)) + FLAME_ROW + 4;
        this.canvas.style.height = `${height}px`;
        const context = prepareCanvas(this.canvas, width, height);
        context.textBaseline = 'middle';
        for (const { node, x, width: w, y } of this.boxes) {
            context.fillStyle = node.parent && !node.internal ? `hsl(${25 + hash(node.name) % 40} 75% ${62 + hash(node.file) % 14}%)`
                : node.parent ? `hsl(215 16% ${82 + hash(node.name) % 8}%)` : OTHERS.light;
            context.fillRect(x, y, Math.max(0.5, w - 0.7), FLAME_ROW - 1);
            if (w > 30) {
                context.fillStyle = '#1b1b1b';
                context.fillText(fitText(context, `${node.name}  ${sizeText(node.bytes)}`, w - 8), x + 4, y + FLAME_ROW / 2);
            }
        }
    }

    nodeAt(x, y) {
        const box = (this.boxes || []).find((b) => x >= b.x && x < b.x + b.width && y >= b.y && y < b.y + FLAME_ROW);
        return box && box.node;
    }
}

const share = (part, whole) => `${(whole ? 100 * part / whole : 0).toFixed(1)} %`;

function hash(text) {
    let h = 0;
    for (let i = 0; i < text.length; i++) {
        h = (h * 31 + text.charCodeAt(i)) >>> 0;
    }
    return h;
}
