/** The licences of the packages that are bundled into lib/. MIT, ISC and Apache-2.0 ask that their notices travel with the code. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

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
  const line = `\n${'-'.repeat(80)}\n\n`;
  return `The programs in this folder contain these packages.\n${line}${[...parts.keys()]
    .sort()
    .map((key) => parts.get(key))
    .join(line)}`;
}
