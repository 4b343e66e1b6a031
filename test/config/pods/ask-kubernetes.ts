/** Asks Kubernetes' own code (oracle/main.go), built from the modules of the release that test/servers builds. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const GO_MODULE = join(import.meta.dirname, '../../servers/go/k8s');

export interface Oracle {
  /** Returns one answer per question, in their order. */
  readonly ask: <Answer>(questions: readonly object[]) => readonly Answer[];
  readonly close: () => void;
}

/** Takes seconds when the servers were built before, minutes otherwise. */
export function buildOracle(): Oracle {
  const folder = mkdtempSync(join(tmpdir(), 'pods-oracle-'));
  for (const file of ['go.mod', 'go.sum']) cpSync(join(GO_MODULE, file), join(folder, file));
  cpSync(join(import.meta.dirname, 'oracle/main.go'), join(folder, 'main.go'));
  const env = { ...process.env, CGO_ENABLED: '0', GOFLAGS: '-mod=mod', GOWORK: 'off' };
  execFileSync('go', ['build', '-o', 'oracle', '.'], { cwd: folder, env, stdio: 'inherit' });
  return {
    ask: <Answer>(questions: readonly object[]) => {
      const input = questions.map((question) => `${JSON.stringify(question)}\n`).join('');
      const told = execFileSync(join(folder, 'oracle'), { input, encoding: 'utf8', maxBuffer: 2 ** 28 });
      const answers = told.trimEnd().split('\n');
      if (answers.length !== questions.length)
        throw new Error(`${answers.length} answers to ${questions.length} questions`);
      return answers.map((answer) => JSON.parse(answer) as Answer);
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}
