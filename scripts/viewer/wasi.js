// SPDX-License-Identifier: MIT
// What memtool asks of its system, as far as one file in memory and two streams need it. Runs in a worker.

const ERRNO = { ok: 0, badf: 8, noent: 44, nosys: 52 };
const FOLDER = 3; // the descriptor of "/", where the file lies
const FILE = 4;

class Ended extends Error {
    constructor(code) {
        super(`exit ${code}`);
        this.code = code;
    }
}

// { code, out, err }: runs one call of memtool on the bytes, which it sees as /name.
async function runMemtool(module, args, name, bytes) {
    const written = { 1: [], 2: [] };
    let at = 0;
    let memory;
    const view = () => new DataView(memory.buffer);
    const text = (p, n) => new TextDecoder().decode(new Uint8Array(memory.buffer, p, n));
    const vectors = function* (p, n) {
        for (let i = 0; i < n; i++) {
            yield new Uint8Array(memory.buffer, view().getUint32(p + 8 * i, true), view().getUint32(p + 8 * i + 4, true));
        }
    };
    const put = (list, p, buffer) => {
        for (const item of list) {
            const encoded = new TextEncoder().encode(`${item}\0`);
            view().setUint32(p, buffer, true);
            new Uint8Array(memory.buffer).set(encoded, buffer);
            p += 4;
            buffer += encoded.length;
        }
        return ERRNO.ok;
    };
    const sizes = (list, count, length) => {
        view().setUint32(count, list.length, true);
        view().setUint32(length, list.reduce((n, item) => n + new TextEncoder().encode(item).length + 1, 0), true);
        return ERRNO.ok;
    };
    const stat = (p, kind, size) => {
        new Uint8Array(memory.buffer, p, 64).fill(0);
        view().setUint8(p + 16, kind);
        view().setBigUint64(p + 32, BigInt(size), true);
        return ERRNO.ok;
    };
    const read = (p, n, from) => {
        let got = 0;
        for (const to of vectors(p, n)) {
            const piece = bytes.subarray(from + got, from + got + to.length);
            to.set(piece);
            got += piece.length;
        }
        return got;
    };
    const wasi = {
        args_get: (p, buffer) => put(['memtool', ...args], p, buffer),
        args_sizes_get: (count, length) => sizes(['memtool', ...args], count, length),
        environ_get: () => ERRNO.ok,
        environ_sizes_get: (count, length) => sizes([], count, length),
        clock_time_get: (id, precision, p) => { view().setBigUint64(p, BigInt(Math.round(Date.now() * 1e6)), true); return ERRNO.ok; },
        fd_close: () => ERRNO.ok,
        fd_fdstat_get: (fd, p) => {
            new Uint8Array(memory.buffer, p, 24).fill(0);
            view().setUint8(p, fd === FOLDER ? 3 : fd === FILE ? 4 : 6); // a pipe: no terminal
            view().setBigUint64(p + 8, 0xffffffffffffffffn, true);
            view().setBigUint64(p + 16, 0xffffffffffffffffn, true);
            return fd <= FILE ? ERRNO.ok : ERRNO.badf;
        },
        fd_fdstat_set_flags: () => ERRNO.ok,
        fd_filestat_get: (fd, p) => (fd === FILE ? stat(p, 4, bytes.length) : stat(p, 6, 0)),
        fd_prestat_get: (fd, p) => {
            if (fd !== FOLDER) {
                return ERRNO.badf;
            }
            view().setUint32(p, 0, true);
            view().setUint32(p + 4, 1, true);
            return ERRNO.ok;
        },
        fd_prestat_dir_name: (fd, p) => { view().setUint8(p, 47); return ERRNO.ok; },
        path_open: (fd, flags, p, n, create, rights, inheriting, mode, opened) => {
            if (text(p, n) !== name || create & 1) {
                return ERRNO.noent;
            }
            at = 0;
            view().setUint32(opened, FILE, true);
            return ERRNO.ok;
        },
        path_filestat_get: (fd, flags, p, n, to) => (text(p, n) === name ? stat(to, 4, bytes.length) : ERRNO.noent),
        fd_read: (fd, p, n, result) => {
            const got = fd === FILE ? read(p, n, at) : 0;
            at += got;
            view().setUint32(result, got, true);
            return ERRNO.ok;
        },
        fd_pread: (fd, p, n, from, result) => {
            view().setUint32(result, fd === FILE ? read(p, n, Number(from)) : 0, true);
            return ERRNO.ok;
        },
        fd_seek: (fd, by, whence, result) => {
            if (fd !== FILE) {
                return 70; // a pipe does not seek
            }
            at = Number(by) + [0, at, bytes.length][whence];
            view().setBigUint64(result, BigInt(at), true);
            return ERRNO.ok;
        },
        fd_write: (fd, p, n, result) => {
            let all = 0;
            for (const from of vectors(p, n)) {
                written[fd]?.push(from.slice());
                all += from.length;
            }
            view().setUint32(result, all, true);
            return ERRNO.ok;
        },
        proc_exit: (code) => { throw new Ended(code); } };
    const imports = { wasi_snapshot_preview1: {}, env: {} };
    for (const { module: from, name: what } of WebAssembly.Module.imports(module)) {
        // what a browser does not have fails: no processes; no JSON library, which only --json asks for
        imports[from][what] = wasi[what] ?? (() => (from === 'env' ? (what.startsWith('cJSON') ? 0 : -1) : ERRNO.nosys));
    }
    const instance = await WebAssembly.instantiate(module, imports);
    memory = instance.exports.memory;
    let code = 0;
    try {
        instance.exports._start();
    } catch (error) {
        if (error instanceof Ended) {
            code = error.code;
        } else {
            code = 6;
            written[2].push(new TextEncoder().encode(`memtool: this file needs more memory than a browser gives one page (${error.message})\n`));
        }
    }
    return { code, out: new Blob(written[1]), err: await new Blob(written[2]).text() };
}
