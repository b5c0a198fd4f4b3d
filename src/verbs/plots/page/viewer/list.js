// ---- the events ----

const ROW = 20;
const MOST_PIXELS = 8e6; // browsers do not scroll further; beyond it a pixel stands for several rows

class List {
    constructor(app, element) {
        this.app = app;
        this.element = element;
        this.space = document.getElementById('list-space');
        this.rows = document.getElementById('rows');
        element.addEventListener('scroll', () => this.draw());
        element.addEventListener('wheel', (e) => { // by rows, however many rows a pixel stands for
            if (this.app.device.n * ROW > MOST_PIXELS) {
                e.preventDefault();
                this.first = Math.min(this.mostFirst(), Math.max(0, this.firstRow() + Math.sign(e.deltaY) * Math.max(1, Math.round(Math.abs(e.deltaY) / ROW))));
                this.element.scrollTop = this.first / Math.max(1, this.mostFirst()) * this.room();
                this.shownTop = this.element.scrollTop;
                this.draw();
            }
        }, { passive: false });
        element.addEventListener('keydown', (e) => this.key(e));
        this.rows.addEventListener('click', (e) => {
            const row = e.target.closest('.row');
            if (row) {
                this.app.select(Number(row.dataset.event));
            }
        });
    }

    reset() {
        this.element.style.setProperty('--digits', `${String(this.app.device.n).length}ch`);
        this.space.style.height = `${Math.min(MOST_PIXELS, this.app.device.n * ROW)}px`;
    }

    visible() {
        return Math.ceil(this.element.clientHeight / ROW) + 1;
    }

    key(e) {
        const page = this.visible() - 2;
        const to = { PageUp: this.app.place.event - page, PageDown: this.app.place.event + page, Home: 0, End: this.app.device.n - 1 }[e.key];
        if (to !== undefined) {
            e.preventDefault();
            this.app.select(to);
        }
    }

    room() {
        return Math.max(1, this.space.offsetHeight - this.element.clientHeight);
    }

    mostFirst() {
        return Math.max(0, this.app.device.n - Math.floor(this.element.clientHeight / ROW));
    }

    firstRow() {
        if (this.first !== undefined && this.shownTop === this.element.scrollTop) {
            return this.first; // set by the wheel, finer than a pixel
        }
        const most = this.mostFirst();
        return Math.max(0, Math.min(most, Math.round(this.element.scrollTop / this.room() * most)));
    }

    scrollTo(event) {
        const most = Math.max(1, this.mostFirst());
        const room = this.room();
        const first = this.firstRow();
        if (event < first || event > first + this.visible() - 4) {
            const middle = Math.max(0, event - Math.floor(this.visible() / 2));
            this.element.scrollTop = Math.min(1, middle / most) * room;
        }
        this.draw();
    }

    draw() {
        const device = this.app.device;
        const first = this.firstRow();
        const rows = document.createDocumentFragment();
        for (let i = first; i < Math.min(device.n, first + this.visible()); i++) {
            rows.append(this.row(device, i));
        }
        this.rows.style.transform = `translateY(${this.element.scrollTop}px)`;
        this.rows.replaceChildren(rows);
        this.element.setAttribute('aria-activedescendant', `event-${this.app.place.event}`);
    }

    row(device, i) {
        const row = document.createElement('div');
        const action = device.meta.actions[device.action[i]];
        const oom = device.kindOf[device.action[i]] === 6;
        const which = device.eventAlloc[i];
        const stack = which === NEVER || device.stack[i] ? device.stack[i] : device.alloc.stack[which];
        row.className = `row${i === this.app.place.event ? ' chosen' : ''}${oom ? ' oom' : ''}`;
        row.dataset.event = i;
        row.id = `event-${i}`;
        row.setAttribute('role', 'option');
        row.setAttribute('aria-selected', i === this.app.place.event);
        const cells = [['n', String(i)], ['action', action], ['addr', oom ? `${sizeText(Number(device.addrs[device.addr[i]]))} free` : device.addrs[device.addr[i]] ? device.addressText(device.addr[i]) : ''],
            ['size', sizeText(device.sizes[device.size[i]])], ['label', stack ? this.app.stacks.label(stack)[0] : '']];
        for (const [name, text] of cells) {
            const cell = document.createElement('span');
            cell.className = name;
            cell.textContent = text;
            cell.title = name === 'label' ? text : '';
            row.append(cell);
        }
        return row;
    }
}
