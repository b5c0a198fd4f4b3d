// SPDX-License-Identifier: MIT
// The viewer around memtool: one file at a time; its page in a frame, its reports as text.

const MOST = 2 ** 31 - 1; // bytes: what WebAssembly of 32 bits can hold, with the model beside
const byId = (id) => document.getElementById(id);
const bytesOf = (id) => Uint8Array.from(atob(byId(id).textContent), (c) => c.charCodeAt(0));

class Memtool {
    constructor() {
        this.worker = new Worker(URL.createObjectURL(new Blob([new TextDecoder().decode(bytesOf('worker'))], { type: 'text/javascript' })));
        this.worker.onmessage = ({ data }) => { this.waiting.get(data.id)?.(data); this.waiting.delete(data.id); };
        this.waiting = new Map();
        this.next = 1;
        this.worker.postMessage({ module: new Blob([bytesOf('memtool')]) });
    }

    ask(message) {
        const id = this.next++;
        this.worker.postMessage({ id, ...message });
        return new Promise((resolve) => this.waiting.set(id, resolve));
    }
}

const REPORTS = [['triage', 'Triage: why it died, what to try'], ['peak', 'Peak: who holds memory'], ['info', 'Info: what this file is'], ['stats', 'Stats: allocated, reserved, lost'],
    ['leaks', 'Leaks: what grows from step to step'], ['steps', 'Steps'], ['frag', 'Fragmentation: why free memory cannot be used'], ['memory', 'Memory by stack'], ['segments', 'Segments']];

class Viewer {
    constructor() {
        this.memtool = new Memtool();
        for (const [verb, words] of REPORTS) {
            byId('report').append(new Option(words, verb));
        }
        byId('choose').addEventListener('change', () => this.open(byId('choose').files[0]));
        byId('report').addEventListener('change', () => this.show('report'));
        byId('tabs').addEventListener('click', (e) => e.target.dataset.view && this.show(e.target.dataset.view));
        document.addEventListener('dragover', (e) => { e.preventDefault(); document.body.classList.add('over'); });
        document.addEventListener('dragleave', () => document.body.classList.remove('over'));
        document.addEventListener('drop', (e) => { e.preventDefault(); document.body.classList.remove('over'); this.open(e.dataTransfer.files[0]); });
    }

    say(text, wrong) {
        byId('said').textContent = text;
        byId('said').className = wrong ? 'wrong' : '';
    }

    async open(file) {
        if (!file) {
            return;
        }
        delete document.documentElement.dataset.ready;
        byId('views').hidden = true;
        if (file.size > MOST) {
            this.say(`${file.name} has ${(file.size / 2 ** 30).toFixed(2)} GiB: a browser holds at most 2 GiB. The memtool program reads it.`, true);
            return;
        }
        this.path = `/${file.name.replace(/[/\0]/g, '_')}`;
        this.say(`reading ${file.name}\u2026`);
        const started = performance.now();
        const read = await this.memtool.ask({ file, name: this.path.slice(1) });
        if (read.err || read.size > MOST) {
            this.say(read.err || `${file.name} unpacks to more than 2 GiB`, true);
            return;
        }
        this.texts = new Map();
        const page = await this.memtool.ask({ args: ['trace_plot', this.path, '--format', 'html', '-o', '-', '--salvage'] });
        this.isLog = page.code !== 0 && page.code !== 4;
        if (!this.isLog) {
            URL.revokeObjectURL(byId('page').src);
            byId('page').src = URL.createObjectURL(new Blob([page.out], { type: 'text/html' }));
        }
        byId('views').hidden = false;
        byId('to-page').disabled = this.isLog;
        this.say(`${file.name}${page.code === 4 ? ' \u2014 damaged: what was whole is shown' : ''}`);
        document.title = `${file.name} - memtool`;
        this.readMs = performance.now() - started;
        await this.show(this.isLog ? 'report' : 'page');
        document.documentElement.dataset.ready = 'true';
    }

    async show(view) {
        byId('page').hidden = view !== 'page';
        byId('text').hidden = view !== 'report';
        for (const button of document.querySelectorAll('#tabs [data-view]')) {
            button.setAttribute('aria-pressed', button.dataset.view === view);
        }
        if (view === 'report') {
            const verb = byId('report').value;
            if (!this.texts.has(verb)) {
                byId('text').textContent = `memtool ${verb}\u2026`;
                const { out, err } = await this.memtool.ask({ args: [verb, this.path, ...(verb === 'triage' ? [] : ['--salvage'])] });
                this.texts.set(verb, `${out ? await out.text() : ''}${err}`.replaceAll(this.path, this.path.slice(1)));
            }
            byId('text').textContent = this.texts.get(verb);
        }
    }
}

window.viewer = new Viewer();
document.documentElement.dataset.ready = 'true';
