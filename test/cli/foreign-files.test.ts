/** Law F292 (docs/spec.md): files of other tools in the folder are told apart from broken RunnerGroups. */
import { expect, it } from 'vitest';
import { quietDocument } from '../support/group-files.ts';
import { folderWith, runHere } from '../support/run-cli.ts';

const HEAD = 'apiVersion: gitea.bpg.pw/v1alpha1\nkind: RunnerGroup\nmetadata: {name: ci}\n';
const PATCH =
  'is a patch for kustomize, which does not run here: commit what it makes, and check that with "kustomize build FOLDER | gitea-runners validate -" [GR-INPUT-03]';

it.each(['kustomization.yaml', 'kustomization.yml', 'Kustomization'])(
  'a patch beside %s is one problem',
  async (name) => {
    const folder = folderWith({
      'ci.yaml': quietDocument({}),
      [name]: 'resources: [ci.yaml]\n',
      'json.yaml': '- {op: replace, path: /spec/maxActiveRunners, value: 20}\n',
      'patch.yaml': `${HEAD}spec: {maxActiveRunners: 20}\n`,
    });

    const { code, stderr } = await runHere(['validate', '.'], {}, folder);

    expect(code).toBe(2);
    expect(stderr.split('\n').filter((line) => line.includes('GR-'))).toEqual([
      `json.yaml:1:1: ${PATCH}`,
      `patch.yaml:1:1: ${PATCH}`,
    ]);
  },
);

it('a group that is not whole has its own problems without kustomize, and beside it with a scope', async () => {
  const patch = `${HEAD}spec: {maxActiveRunners: 20}\n`;
  const alone = await runHere(['validate', '.'], {}, folderWith({ 'patch.yaml': patch }));
  const scoped = patch.replace('{max', '{scope: global, max');
  const beside = await runHere(
    ['validate', '.'],
    {},
    folderWith({ 'ci.yaml': scoped, 'kustomization.yaml': 'a: 1\n' }),
  );

  for (const { stderr } of [alone, beside]) expect(stderr).toContain('spec.authToken: is required');
});

it('a folder with files of another ending only says which endings are read', async () => {
  const folder = folderWith({ 'ci.yaml.bak': quietDocument({}), 'ci.YAML': quietDocument({}), 'notes.txt': 'x' });

  const { stderr } = await runHere(['validate', '.'], {}, folder);

  expect(stderr).toContain('ci.YAML, ci.yaml.bak: only names that end with .yaml, .yml or .json are read. Rename it');
});

it('a Secret that SOPS has encrypted has no warning, and a plain one has', async () => {
  const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {token: "DATA"}\n';
  const encrypted = `${secret.replace('DATA', 'ENC[AES256_GCM,data:x,type:str]')}sops: {kms: []}\n`;
  const warnings = async (text: string) =>
    (await runHere(['validate', '.'], {}, folderWith({ 'ci.yaml': quietDocument({}), 'secret.yaml': text }))).stderr;

  expect(await warnings(encrypted)).toBe('');
  expect(await warnings(secret)).toContain('a Secret in Git is readable');
});
