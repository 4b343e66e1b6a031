/** The licences of the packages that are bundled into lib/. MIT, ISC and Apache-2.0 ask that their notices travel with the code. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Its table of fields is in the programs (scripts/pod-schema.mjs), although it is no package. */
const POD_SCHEMA = 'src/config/pods/pod-schema.json';

const NOTICE = /^(?:licen[cs]e|copying|notice)/i;

/**
 * One text with the name, version, licence and notices of each package.
 * @param {ReadonlyArray<{ inputs: Readonly<Record<string, unknown>> }>} metafiles  Of esbuild.
 */
export function thirdPartyNotices(metafiles) {
  const folders = new Set();
  for (const { inputs } of metafiles) {
    for (const file of Object.keys(inputs)) {
      const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file) ?? [];
      if (folder !== undefined) folders.add(folder);
    }
  }
  const parts = new Map();
  for (const folder of folders) {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const texts = readdirSync(folder)
      .filter((file) => NOTICE.test(file))
      .sort()
      .map((file) => readFileSync(join(folder, file), 'utf8').trim());
    parts.set(`${name} ${version}`, `${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`);
  }
  if (metafiles.some(({ inputs }) => POD_SCHEMA in inputs)) {
    const name = `Kubernetes ${JSON.parse(readFileSync(POD_SCHEMA, 'utf8')).kubernetes}`;
    const about =
      'Copyright The Kubernetes Authors. The fields of pods are read from its file api/openapi-spec/swagger.json, shortened.';
    // Ours is the same licence.
    parts.set(name, `${name} (Apache-2.0)\n\n${about}\n\n${readFileSync('LICENSE', 'utf8').trim()}\n`);
  }
  const line = `\n${'-'.repeat(80)}\n\n`;
  return `The programs in this folder contain these packages.\n${line}${[...parts.keys()]
    .sort()
    .map((key) => parts.get(key))
    .join(line)}`;
}
