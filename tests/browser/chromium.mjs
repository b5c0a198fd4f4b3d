// SPDX-License-Identifier: MIT
// A headless Chromium driven over a pipe: file descriptor 3 takes commands, 4 gives answers, each a
// JSON text that ends with a NUL.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const NAMES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export function findChromium() {
    return process.env.CHROMIUM || NAMES.find((name) => existsSync(name));
}

export class Chromium {
    constructor(program) {
        this.folder = mkdtempSync(join(tmpdir(), 'memtool-browser-'));
        this.child = spawn(program, ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
            '--disable-background-networking', '--disable-component-update', '--disable-sync', '--hide-scrollbars',
            `--user-data-dir=${this.folder}`, '--remote-debugging-pipe', 'about:blank'],
        { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true });
        this.child.on('exit', () => this.fail(undefined, 'the browser ended'));
        this.child.stdio[3].on('error', () => {}); // a browser that is gone is told by its exit
        this.next = 1;
        this.waiting = new Map();
        this.pages = new Map();
        let rest = '';
        this.child.stdio[4].on('data', (data) => {
            const texts = (rest + data).split('\0');
            rest = texts.pop();
            texts.forEach((text) => this.take(JSON.parse(text)));
        });
    }

    take(message) {
        const waiting = this.waiting.get(message.id);
        if (waiting) {
            this.waiting.delete(message.id);
            if (message.error) {
                waiting.reject(new Error(message.error.message));
            } else {
                waiting.resolve(message.result);
            }
        } else if (message.sessionId) {
            this.pages.get(message.sessionId)?.event(message.method, message.params);
        }
    }

    send(method, params = {}, sessionId = undefined) {
        const id = this.next++;
        if (this.child.exitCode !== null || this.child.signalCode !== null) {
            return Promise.reject(new Error('the browser ended'));
        }
        this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
        return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, sessionId }));
    }

    // Whoever waits for an answer of this page (or of any) gets an error instead.
    fail(sessionId, why) {
        for (const [id, waiting] of this.waiting) {
            if (!sessionId || waiting.sessionId === sessionId) {
                this.waiting.delete(id);
                waiting.reject(new Error(why));
            }
        }
    }

    // Ends the browser with all its processes, however busy its pages are.
    kill() {
        try {
            process.kill(-this.child.pid, 'SIGKILL');
        } catch {
            // gone already
        }
        rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    }

    async open(path, { width = 1280, height = 800, hash = '' } = {}) {
        const { targetId } = await this.send('Target.createTarget', { url: 'about:blank' });
        const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
        const page = new Page(this, sessionId, targetId);
        this.pages.set(sessionId, page);
        await Promise.all(['Page', 'Runtime', 'Network', 'Log', 'Inspector'].map((domain) => page.send(`${domain}.enable`)));
        await page.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
        page.started = performance.now();
        await page.send('Page.navigate', { url: pathToFileURL(path).href + hash });
        await page.until("document.documentElement?.dataset.ready === 'true' || document.querySelector('main > .none, body > .none')");
        page.openMs = performance.now() - page.started;
        if (page.errors.length) {
            throw new Error(`${path}: ${page.errors.join('; ')}`);
        }
        return page;
    }

    async close() {
        const gone = new Promise((resolve) => this.child.once('exit', resolve));
        this.send('Browser.close').catch(() => {});
        setTimeout(() => this.kill(), 5000).unref();
        await gone;
        this.kill();
    }
}

class Page {
    constructor(browser, sessionId, targetId) {
        Object.assign(this, { browser, sessionId, targetId, errors: [], requests: [] });
    }

    event(method, params) {
        if (method === 'Target.attachedToTarget' && params.targetInfo.type === 'iframe') {
            this.frame = params.sessionId; // a frame of another origin is a process of its own
        } else if (method === 'Runtime.exceptionThrown') {
            this.broken = params.exceptionDetails.exception?.description || params.exceptionDetails.text;
            this.errors.push(this.broken);
            this.browser.fail(this.sessionId, `exception in the page: ${this.broken}`);
        } else if (method === 'Inspector.targetCrashed') {
            this.broken = 'the page crashed';
            this.browser.fail(this.sessionId, this.broken);
        } else if (method === 'Runtime.consoleAPICalled' && params.type === 'error') {
            this.errors.push(params.args.map((a) => a.value ?? a.description).join(' '));
        } else if (method === 'Log.entryAdded' && params.entry.level === 'error') {
            this.errors.push(params.entry.text);
        } else if (method === 'Network.requestWillBeSent' && !/^(file|data|blob):/.test(params.request.url)) {
            this.requests.push(params.request.url);
        }
    }

    // A page that threw fails the test that waits for it at once.
    send(method, params) {
        return this.broken ? Promise.reject(new Error(`exception in the page: ${this.broken}`)) : this.browser.send(method, params, this.sessionId);
    }

    // The value of an expression in the frame of the page; Target.setAutoAttach was sent before.
    async inFrame(expression) {
        const { result } = await this.browser.send('Runtime.evaluate', { expression, returnByValue: true }, this.frame);
        return result.value;
    }

    // The value of an expression in the page.
    async value(expression) {
        const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true });
        if (exceptionDetails) {
            throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
        }
        return result.value;
    }

    async until(expression, ms = 60000) {
        const end = performance.now() + ms;
        while (performance.now() < end) {
            if (await this.value(`Boolean(${expression})`)) {
                return;
            }
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
        throw new Error(`never true: ${expression}`);
    }

    // Lets the page draw what is waiting to be drawn.
    settle() {
        return this.value('new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(r, 130))))');
    }

    async key(key, modifiers = 0) {
        const text = key.length === 1 ? key : undefined;
        await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, text, modifiers });
        await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, modifiers });
        await this.settle();
    }

    async type(text) {
        await this.send('Input.insertText', { text });
        await this.settle();
    }

    async click(x, y) {
        for (const type of ['mousePressed', 'mouseReleased']) {
            await this.send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
        }
        await this.settle();
    }

    async hover(x, y) {
        await this.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y });
        await this.settle();
    }

    async wheel(x, y, deltaY) {
        await this.send('Input.dispatchMouseEvent', { type: 'mouseWheel', x, y, deltaX: 0, deltaY });
        await this.settle();
    }

    async picture(path) {
        const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
        writeFileSync(path, Buffer.from(data, 'base64'));
    }

    close() {
        return this.browser.send('Target.closeTarget', { targetId: this.targetId });
    }
}
