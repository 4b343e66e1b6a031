/** `gitea-runners init`: writes the files of a new installation. It applies nothing and asks no server. */
import { existsSync, mkdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { runnerGroupFromObject } from '../../config/runnergroup/from-object.ts';
import { pathText } from '../../config/runnergroup/paths.ts';
import { Failure, systemCode, systemReason } from '../../shared/failure.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import type { ExitCode, Io } from '../../shared/io.ts';
import { printable } from '../../shared/printable.ts';
import { type FlagsOf, flagValue } from '../flags/flags.ts';
import { type Answers, type AskPerson, answersOf, initFailure } from '../init/answers.ts';
import { applicationText, externalSecretsText, groupText, manifestFrom, setupScript } from '../init/init-files.ts';
import { warningsOf } from '../reading/warnings.ts';

/** Writes the files. @param ask undefined: nobody can answer @throws Failure exit 2: a wrong answer, or a file is there */
export async function init(
  folder: string,
  flags: FlagsOf<'init'>,
  io: Io,
  ask: AskPerson | undefined,
): Promise<ExitCode> {
  const answers = await answersOf(flags, io, ask, (answer) => problemsOf({ ...GOOD, ...answer }));
  const problems = problemsOf(answers);
  if (problems.length > 0) throw initFailure('GR-INIT-03', problems);
  const files = filesOf(answers);
  const names = Object.keys(files);
  const root = resolve(io.cwd, folder);
  const force = flagValue('force', flags, io);
  refuseLinks(folder, root, names);
  const existing = names.filter((name) => existsSync(join(root, name)));
  if (existing.length > 0 && !force) {
    const message = `init: ${existing.join(', ')} in ${folder}: there already. --force writes over ${existing.length === 1 ? 'it' : 'them'}.`;
    throw new Failure('GR-INIT-04', 2, message);
  }
  for (const [name, text] of Object.entries(files)) write(join(folder, name), join(root, name), text, force);
  for (const warning of await oddAnswers(answers)) io.err(`warning: ${printable(warning)}.\n`);
  io.out(nextSteps(folder, root !== resolve(io.cwd), names, answers));
  return 0;
}

function nextSteps(folder: string, isElsewhere: boolean, names: readonly string[], answers: Answers): string {
  const { group, path, registration, secretTool } = answers;
  const ofServe = `\n     Let serve create the Secrets of runners:\n     ${manual('install.md#runners-that-serve-registers')}`;
  const sealed = secretTool === 'sealed-secrets' ? ', and the sealed-*.yaml that it writes' : '';
  return `Written to ${folder}:
${names.map((name) => `  ${name}`).join('\n')}

Next${isElsewhere ? `, in ${folder}` : ''}:
  1. Install into Argo CD, if that is not done: step 1 of
     ${manual('install.md#install-three-steps')}${registration === 'pod' ? '' : ofServe}
  2. GITEA_API_TOKEN=… GITEA_OWNER_TOKEN=… sh setup.sh     makes the Secrets and the webhook
  3. kubectl apply -f argocd/application.yaml
  4. Commit and push ${join(path, `${group}.yaml`)}${sealed}.
  5. gitea-runners explain                                  says what happens to each job
`;
}

/** Runs a command that asks on a terminal before it writes. @returns 130 when the person ends it with Ctrl-C or Ctrl-D */
export async function asking(
  io: Io,
  command: (ask: AskPerson | undefined) => Promise<ExitCode>,
  { stdin, stdout }: Pick<NodeJS.Process, 'stdin' | 'stdout'> = process,
): Promise<ExitCode> {
  if (!io.terminal || stdin.isTTY !== true) return command(undefined);
  const lines = createInterface({ input: stdin, output: stdout });
  try {
    return await command(async (question, byDefault) => {
      const answer = await lines.question(`${question}${byDefault === undefined ? '' : ` [${byDefault}]`}: `);
      return answer.trim();
    });
  } catch (error) {
    if (!(error instanceof Error && error.name === 'AbortError')) throw error;
    io.err('\nStopped. Nothing was written.\n');
    return 130;
  } finally {
    lines.close();
  }
}

/** A link in a cloned repository may lead anywhere. @throws Failure for a link at one of the files, or on the way from `root` to it */
function refuseLinks(folder: string, root: string, names: readonly string[]): void {
  for (const name of names) {
    const steps = name.split('/').map((_, index, all) => join(...all.slice(0, index + 1)));
    const link = steps.find((step) => isLink(join(root, step)));
    if (link === undefined) continue;
    const why = `${printable(join(folder, link))} is a link, and may lead out of the folder. Remove it`;
    throw new Failure('GR-INIT-06', 1, `init: write ${printable(join(folder, name))}: ${why}.`);
  }
}

function isLink(path: string): boolean {
  try {
    readlinkSync(path);
    return true;
  } catch {
    return false;
  }
}

/** @param displayName the file as the person calls it */
function write(displayName: string, file: string, text: string, force: boolean): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { mode: file.endsWith('.sh') ? 0o755 : 0o644, flag: force ? 'w' : 'wx' });
  } catch (error) {
    const code = systemCode(error);
    const why = ['EEXIST', 'ENOTDIR'].includes(code)
      ? `a file stands where a folder is needed (${code})`
      : systemReason(error);
    throw new Failure('GR-INIT-06', 1, `init: write ${printable(displayName)}: ${why}. Choose another folder.`);
  }
}

function filesOf(answers: Answers): Readonly<Record<string, string>> {
  return {
    [join(answers.path, `${answers.group}.yaml`)]: groupText(answers),
    'argocd/application.yaml': applicationText(answers),
    ...(answers.secretTool === 'external-secrets' && { 'argocd/external-secrets.yaml': externalSecretsText(answers) }),
    'setup.sh': setupScript(answers),
  };
}

/** Valid answers. To check a single answer, it takes the place of one of these. */
const GOOD: Answers = {
  group: 'ci',
  namespace: 'runners',
  gitea: 'https://gitea.example.com',
  scope: { scope: 'org', org: 'acme' },
  cap: 1,
  mode: 'host',
  registration: 'pod',
  git: 'https://gitea.example.com/ops/runners.git',
  path: 'groups',
  secretTool: 'kubectl',
  secretStore: 'gitea-runners',
  webhook: 'http://gitea-runners.argocd.svc/webhook',
};

const FLAG_OF: Readonly<Record<string, string>> = {
  metadata: '--group-namespace',
  'metadata.name': '--group-name',
  'metadata.namespace': '--group-namespace',
  'spec.gitea': '--gitea',
  'spec.gitea.url': '--gitea',
  'spec.org': '--owner',
  'spec.user': '--owner',
  'spec.repo': '--owner',
  'spec.maxActiveRunners': '--cap',
  'spec.containerMode': '--container-mode',
};

const STORE_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/;

/** Rules for the answers that no field of a RunnerGroup holds. */
const FORMS = [
  [
    'git',
    /^(?:https?:\/\/|ssh:\/\/|[\w.-]+@)\S+$/,
    '--git must be the URL of a git repository, e.g. https://gitea.example.com/ops/runners.git',
  ],
  ['registration', /^(?:pod|serve|bound)$/, '--registration must be pod, serve or bound'],
  ['path', /^(?!\.\.(?:\/|$))[\w.-]+(?:\/(?!\.\.(?:\/|$))[\w.-]+)*$/, '--git-path must be a folder of the repository'],
  ['secretStore', STORE_NAME, '--secret-store must be the name of a ClusterSecretStore'],
  ['webhook', /^https?:\/\/[^\s"'\\$`]+$/, '--webhook-url must be an http or https URL'],
] as const;

function problemsOf(answers: Answers): readonly string[] {
  const read = groupFrom(answers);
  const problems = FORMS.flatMap(([key, form, must]) => (form.test(answers[key]) ? [] : [must]));
  return 'problem' in read ? [inFlags(read.problem), ...problems] : problems;
}

const groupFrom = (answers: Answers) =>
  runnerGroupFromObject({ name: answers.group, namespace: answers.namespace, spec: manifestFrom(answers).spec });

/** Returns what `validate` warns of in the files. */
async function oddAnswers(answers: Answers): Promise<readonly string[]> {
  const read = groupFrom(answers);
  const warnings = 'group' in read ? await warningsOf([read.group], true) : [];
  return warnings.map(({ path, message }) => inFlags(`${pathText(path)} ${message}`));
}

/** Names flags in the place of fields, as the person knows them: the file was not there before. */
function inFlags(text: string): string {
  return text
    .replaceAll(/(?<=^|; )(?:metadata|spec)(?:\.[\w.]+)?/g, (path) => FLAG_OF[path] ?? path)
    .replaceAll(/"scope: repo" and "repo: ([^"]+)"/g, '--scope repo --owner $1')
    .replaceAll(/"(?:name|namespace|url|org|user|repo|maxActiveRunners): ([^"]+)"/g, '$1');
}
