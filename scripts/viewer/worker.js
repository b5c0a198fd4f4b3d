// SPDX-License-Identifier: MIT
// Beside the page, so that it stays alive: keeps the file and runs memtool on it.

let ready;
let file;

onmessage = async ({ data }) => {
    try {
        if (data.module) {
            ready = throughStream(data.module, 'gzip').then((bytes) => WebAssembly.compile(bytes));
        } else if (data.file) {
            file = { name: data.name, bytes: await unpack(data.file) };
            postMessage({ id: data.id, size: file.bytes.length });
        } else {
            const result = await runMemtool(await ready, data.args, file.name, file.bytes);
            postMessage({ id: data.id, ...result });
        }
    } catch (error) {
        postMessage({ id: data.id, code: 3, err: `${error.message}\n` });
    }
};
