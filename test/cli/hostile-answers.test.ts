/**
 * `generate` before a Gitea that answers in hostile or broken ways. Each answer has its expected outcome: an error with this code and
 * nothing on stdout, or exactly so many Jobs. No outcome may hold a token, steer a terminal, cost much memory or outlast the time limit.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { HostileAnswer } from '../clients/gitea/answers/answer.ts';
import { LIST_ANSWERS } from '../clients/gitea/answers/lists.ts';
import { NAME_ANSWERS } from '../clients/gitea/answers/names.ts';
import { TRANSPORT_ANSWERS } from '../clients/gitea/answers/transport.ts';
import { LEAK } from '../clients/gitea/fault.ts';
import { folderWith, groupYaml, runCli } from '../support/run-cli.ts';
import { serve } from '../support/server.ts';

const TOKEN = 'secret-token-of-this-test-0123456789';
const USAGE = join(process.cwd(), 'bench/usage.cjs');
/**
 * Most memory for one answer, MiB. One Job takes 52 MiB. The rest is for parsing several lists of 4 MiB: Node 24 took
 * up to 260 MiB. The sidecar may take 768.
 */
const MOST_MEMORY_MIB = 320;
/** Whatever steers a terminal or hides text, but for line ends. */
const UNPRINTABLE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

const ANSWERS: readonly HostileAnswer[] = [...NAME_ANSWERS, ...LIST_ANSWERS, ...TRANSPORT_ANSWERS];

it('the list of hostile answers has at least 80, each under its own name', () => {
  expect(new Set(ANSWERS.map(({ name }) => name)).size).toBe(ANSWERS.length);
  expect(ANSWERS.length).toBeGreaterThanOrEqual(80);
});

it.concurrent.for(ANSWERS.map((answer) => [answer.name, answer] as const))(
  'generate before a Gitea that answers with %s',
  async ([, { expected, handler, lasts }], { expect, onTestFinished }) => {
    const elsewhere: string[] = [];
    const { origin: other } = await serve((request, response) => {
      elsewhere.push(String(request.headers.authorization));
      response.end();
    }, onTestFinished);
    const { origin: url } = await serve(handler(other), onTestFinished);
    const folder = folderWith({ 'ci.yaml': groupYaml(url) }, onTestFinished);
    const peakFile = join(folder, 'peak');

    const { code, stdout, stderr } = await runCli(
      ['generate', 'ci.yaml', '--cluster', 'off', '--timeout', lasts ? '1' : '600'],
      { GITEA_URL: url, GITEA_TOKEN: TOKEN, NODE_OPTIONS: `--require ${USAGE}`, USAGE_FILE: peakFile },
      folder,
    );

    if ('code' in expected) {
      expect(stderr).toContain(`error: ${expected.code} `);
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    } else {
      expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
      const documents = parseAllDocuments(stdout).map(
        (document) => document.toJS() as { readonly kind?: unknown } | null,
      );
      const kinds = documents.flatMap((found) => (found === null ? [] : [found.kind]));
      expect(kinds).toEqual(Array(expected.jobs).fill('Job'));
    }
    expect(stderr.split('\n').length).toBeLessThanOrEqual(20);
    expect(stderr).not.toContain(LEAK);
    expect(stderr + stdout).not.toContain(TOKEN);
    expect(stderr + stdout).not.toMatch(UNPRINTABLE);
    expect(stderr).not.toMatch(/GR-INTERNAL|\n\s+at /);
    expect(elsewhere).toEqual([]);
    expect(Number.parseInt(readFileSync(peakFile, 'utf8'), 10) / 1024).toBeLessThanOrEqual(MOST_MEMORY_MIB);
  },
);
