// SPDX-License-Identifier: MIT
// The viewer's modules without a browser: those that draw nothing, over the blobs of a page.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';

const FOLDER = join(import.meta.dirname, '../../src/verbs/plots/page/viewer');
const MODULES = ['columns', 'model', 'layers', 'annotations', 'moment', 'blocks', 'singles', 'stack_table'];

// What of a document the modules ask for: blobs by their id.
function blobsOf(html) {
    const blobs = new Map();
    for (const [, id, width, text] of html.matchAll(/<script type="application\/octet-stream" id="([^"]+)" data-width="(\d+)">([^<]*)</g)) {
        blobs.set(id, { textContent: text, dataset: { width }, remove() { blobs.delete(id); } });
    }
    return { getElementById: (id) => blobs.get(id) };
}

// { meta, stacks, devices, run }: run evaluates an expression among the modules.
export async function openPage(path) {
    const context = vm.createContext({ document: blobsOf(readFileSync(path, 'utf8')), console, atob, Blob, Response, DecompressionStream, TextDecoder, URLSearchParams });
    const source = MODULES.map((name) => readFileSync(join(FOLDER, `${name}.js`), 'utf8')).join('\n');
    vm.runInContext(source, context);
    const run = (text) => vm.runInContext(text, context);
    const meta = await run("readJson('meta')");
    context.meta = meta;
    context.stacks = await run('Stacks.read(meta)');
    const devices = [];
    for (let i = 0; i < meta.devices.length; i++) {
        context.index = i;
        devices.push(await run('Device.read(index, meta, stacks)'));
    }
    return { meta, stacks: context.stacks, devices, run, at: (device, event) => run('segmentsAt')(device, event) };
}
