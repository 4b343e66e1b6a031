/**
 * Container images without a registry or a daemon: files -> a tar that `ctr images import` and `docker load` take (the
 * docker-archive format: manifest.json, config, one tar per layer). Same inputs, same bytes.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {{ path: string, mode?: number, content: string | Uint8Array }
 *   | { path: string, mode?: number, source: string, capability?: number }
 *   | { path: string, link: string }
 *   | { path: string, mode?: number, directory: true }} Entry  A file of the image; `path` is absolute. `capability`: the number of
 *   the one that the program gets for whoever starts it, as `setcap` gives it.
 */

/**
 * @param {{ out: string, name: string, layers: ReadonlyArray<{ files: readonly Entry[] } | { folder: string }>,
 *   config: { Entrypoint?: string[], Cmd?: string[], Env?: string[], User?: string, WorkingDir?: string,
 *     Labels?: Readonly<Record<string, string>> } }} image
 */
export async function writeImage({ out, name, layers, config }) {
  const blobs = layers.map((layer) => tar('folder' in layer ? entriesOf(layer.folder) : layer.files));
  const digests = blobs.map((blob) => createHash('sha256').update(blob).digest('hex'));
  const image = Buffer.from(
    JSON.stringify({
      architecture: { x64: 'amd64' }[process.arch] ?? process.arch,
      os: 'linux',
      created: '1970-01-01T00:00:00Z',
      config,
      rootfs: { type: 'layers', diff_ids: digests.map((digest) => `sha256:${digest}`) },
      history: digests.map(() => ({ created: '1970-01-01T00:00:00Z', created_by: 'scripts/oci-image.mjs' })),
    }),
  );
  const imageId = createHash('sha256').update(image).digest('hex');
  const manifest = [{ Config: `${imageId}.json`, RepoTags: [name], Layers: digests.map((digest) => `${digest}.tar`) }];
  writeFileSync(
    out,
    tar([
      { path: '/manifest.json', content: JSON.stringify(manifest) },
      { path: `/${imageId}.json`, content: image },
      ...blobs.map((content, index) => ({ path: `/${digests[index]}.tar`, content })),
    ]),
  );
}

/**
 * Programs of this machine with everything the dynamic linker loads for them, as entries at their own places.
 * @param {readonly string[]} files
 * @returns {Entry[]}
 */
export function withLibraries(files) {
  return lddClosure(files).map((source) => ({ path: source, source: realpathSync(source), mode: 0o755 }));
}

/**
 * The files and all shared libraries that they need, each once, as absolute paths.
 * @param {readonly string[]} files
 * @returns {string[]}
 */
export function lddClosure(files) {
  const found = new Set(files);
  for (const file of files) {
    let text = '';
    try {
      text = execFileSync('ldd', [file], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    } catch {
      // A static program or a script: nothing is loaded for it.
    }
    for (const [, library] of text.matchAll(/(?:=> |^\s+)(\/\S+) \(0x/gm)) if (library) found.add(library);
  }
  return [...found].sort();
}

/** @param {string} folder @returns {Entry[]} */
function entriesOf(folder, below = '') {
  const entries = [];
  for (const name of readdirSync(join(folder, below)).sort()) {
    const path = `${below}/${name}`;
    const source = join(folder, path);
    const stat = lstatSync(source);
    const mode = stat.mode & 0o777;
    if (stat.isSymbolicLink()) entries.push({ path, link: readlinkSync(source) });
    else if (stat.isDirectory()) entries.push({ path, mode, directory: true }, ...entriesOf(folder, path));
    else entries.push({ path, mode, source });
  }
  return entries;
}

/** A tar (ustar) with all folders above the entries; times, owners and order are always the same. */
function tar(entries) {
  const all = new Map();
  for (const entry of entries) {
    const parts = entry.path.split('/').filter(Boolean);
    for (let depth = 1; depth < parts.length; depth += 1) {
      const path = `/${parts.slice(0, depth).join('/')}`;
      if (!all.has(path)) all.set(path, { path, mode: 0o755, directory: true });
    }
    if (!all.has(entry.path) || !entry.directory) all.set(entry.path, entry);
  }
  const blocks = [];
  for (const path of [...all.keys()].sort()) blocks.push(...tarEntry(all.get(path)));
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

function tarEntry(entry) {
  const name = entry.path.replace(/^\//, '');
  if ('directory' in entry) return [header(`${name}/`, entry.mode ?? 0o755, 0, '5', '')];
  if ('link' in entry) return [header(name, 0o777, 0, '2', entry.link)];
  const content = 'source' in entry ? readFileSync(entry.source) : Buffer.from(entry.content);
  const file = [header(name, entry.mode ?? 0o644, content.length, '0', ''), ...padded(content)];
  if (!('capability' in entry)) return file;
  const extended = extendedHeader(entry.capability);
  return [header(name, 0o644, extended.length, 'x', ''), ...padded(extended), ...file];
}

function padded(content) {
  return [content, Buffer.alloc((512 - (content.length % 512)) % 512)];
}

/** The extended attribute `security.capability` (linux/capability.h, `vfs_cap_data` revision 2, effective) as a record of pax. */
function extendedHeader(capability) {
  const value = Buffer.alloc(20);
  value.writeUInt32LE(0x02000001, 0);
  value.writeUInt32LE(2 ** capability, 4);
  const record = Buffer.concat([Buffer.from(' SCHILY.xattr.security.capability='), value, Buffer.from('\n')]);
  // The length counts its own two digits.
  return Buffer.concat([Buffer.from(String(record.length + 2)), record]);
}

function header(name, mode, size, type, link) {
  let prefix = '';
  let base = name;
  if (Buffer.byteLength(name) > 100) {
    const at = [...name.matchAll(/\//g)].map(({ index }) => index).find((index) => name.length - index - 1 <= 100);
    if (at === undefined || at > 155) throw new Error(`too long for a tar: ${name}`);
    prefix = name.slice(0, at);
    base = name.slice(at + 1);
  }
  const block = Buffer.alloc(512);
  block.write(base, 0);
  block.write(`${mode.toString(8).padStart(7, '0')}\0`, 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write(type, 156);
  block.write(link, 157);
  block.write('ustar\x0000', 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/**
 * The labels of the product's image, from package.json. The Dockerfile has the same ones (test/package/image.test.ts).
 * @param {{ name: string, description: string, version: string, license: string, homepage: string }} project
 */
export function imageLabels({ name, description, version, license, homepage }) {
  return {
    'org.opencontainers.image.title': name,
    'org.opencontainers.image.description': description,
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.licenses': license,
    'org.opencontainers.image.url': homepage,
    'org.opencontainers.image.source': homepage,
  };
}
