/** A registry of images, read-only: what `docker pull` asks of one (distribution spec, "Pulling manifests" and "Pulling blobs"). */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import * as z from 'zod';

const MANIFEST = 'application/vnd.docker.distribution.manifest.v2+json';
const Archive = z.tuple([z.object({ Config: z.string(), Layers: z.array(z.string()) })]);

export class Registry {
  /** `address:port`, the first part of its images' names. */
  readonly name: string;
  readonly #server: Server;
  /** Answers by digest; manifests also by `image:tag`. */
  readonly #content = new Map<string, { readonly type: string; readonly body: Buffer }>();

  private constructor(server: Server, name: string) {
    this.#server = server;
    this.name = name;
  }

  static async start(address: string): Promise<Registry> {
    const server = createServer();
    server.listen(0, address);
    await once(server, 'listening');
    const at = server.address();
    const registry = new Registry(server, `${address}:${typeof at === 'object' && at ? at.port : 0}`);
    server.on('request', ({ url = '', method }, response) => {
      const [, image = '', , key = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/]+)$/.exec(url) ?? [];
      const found = registry.#content.get(key) ?? registry.#content.get(`${image}:${key}`);
      if (url === '/v2/') response.end('{}');
      else if (!found) response.writeHead(404).end('{}');
      else {
        const headers = { 'content-type': found.type, 'docker-content-digest': digest(found.body) };
        response.writeHead(200, { ...headers, 'content-length': found.body.length });
        response.end(method === 'HEAD' ? undefined : found.body);
      }
    });
    return registry;
  }

  /** Takes an image from a file of `writeImage`. @param image name and tag, without the registry. Answers its whole name. */
  add(image: string, archive: string, folder: string): string {
    mkdirSync(folder, { recursive: true });
    execFileSync('tar', ['-xf', archive, '-C', folder]);
    const read = (file: string): Buffer => readFileSync(join(folder, file));
    const [{ Config, Layers }] = Archive.parse(JSON.parse(read('manifest.json').toString()));
    const blob = (file: string, mediaType: string) => {
      const body = read(file);
      this.#content.set(digest(body), { type: 'application/octet-stream', body });
      return { mediaType, size: body.length, digest: digest(body) };
    };
    const manifest = {
      schemaVersion: 2,
      mediaType: MANIFEST,
      config: blob(Config, 'application/vnd.docker.container.image.v1+json'),
      layers: Layers.map((layer) => blob(layer, 'application/vnd.docker.image.rootfs.diff.tar.gzip')),
    };
    const body = Buffer.from(JSON.stringify(manifest));
    for (const key of [image, digest(body)]) this.#content.set(key, { type: MANIFEST, body });
    return `${this.name}/${image}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function digest(body: Buffer): string {
  return `sha256:${createHash('sha256').update(body).digest('hex')}`;
}
