import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readFiles as find } from '../../../src/config/runnergroup/group-files.ts';
import { inFolder } from '../../support/group-files.ts';

const FILES = {
  'groups/a.yaml': '1',
  'groups/b.yml': '2',
  'groups/c.json': '3',
  'groups/notes.txt': '4',
  'groups/.hidden.yaml': '5',
  'groups/deep/d.yaml': '6',
  'groups/.git/e.yaml': '7',
  'groups/x.yaml/f.yaml': '8',
};

/** Returns the names of the files that are read, or the message. */
async function found(cwd: string, paths: readonly string[], recursive = false): Promise<readonly string[]> {
  const { files, problems } = await find({ paths, recursive, cwd });
  return [...files.map(({ name }) => name), ...problems.map(({ place, message }) => `${place.file}: ${message}`)];
}

test('a folder gives its own YAML and JSON files, in the order of names', async () => {
  await inFolder(FILES, async (cwd) => {
    expect(await found(cwd, ['groups'])).toEqual(['groups/a.yaml', 'groups/b.yml', 'groups/c.json']);
    expect(await found(join(cwd, 'groups'), [])).toEqual(['a.yaml', 'b.yml', 'c.json']);
  });
});

test('--recursive gives all below it but nothing hidden', async () => {
  await inFolder(FILES, async (cwd) => {
    expect(await found(cwd, ['.'], true)).toEqual([
      'groups/a.yaml',
      'groups/b.yml',
      'groups/c.json',
      'groups/deep/d.yaml',
      'groups/x.yaml/f.yaml',
    ]);
  });
});

test('an absolute PATH outside of the current folder is shown as it was written', async () => {
  await inFolder({ 'repo/a.yaml': '1', 'other/b.yaml': '2', 'other/deep/c.yaml': '3' }, async (cwd) => {
    const repo = join(cwd, 'repo');
    const other = join(cwd, 'other');

    expect(await found(repo, [other, join(repo, 'a.yaml'), '/nowhere'], true)).toEqual([
      `${other}/b.yaml`,
      `${other}/deep/c.yaml`,
      'a.yaml',
      '/nowhere: no such file or folder',
    ]);
  });
});

test('a link inside the folder is followed, as in a mounted ConfigMap', async () => {
  await inFolder({ 'mount/..2026/ci.yaml': '1' }, async (cwd) => {
    symlinkSync('..2026', join(cwd, 'mount', '..data'));
    symlinkSync(join('..data', 'ci.yaml'), join(cwd, 'mount', 'ci.yaml'));

    expect(await found(cwd, ['mount'])).toEqual(['mount/ci.yaml']);
  });
});

test('folders that contain each other through links are read once', async () => {
  await inFolder({ 'a/x.yaml': '1' }, async (cwd) => {
    mkdirSync(join(cwd, 'b'));
    symlinkSync(join('..', 'b'), join(cwd, 'a', 'b'));
    symlinkSync(join('..', 'a'), join(cwd, 'b', 'a'));

    expect(await found(cwd, ['.'], true)).toEqual(['a/x.yaml']);
  });
});

test('a parent folder is read when it is named, and still nothing outside it', async () => {
  await inFolder({ 'repo/app/a.yaml': '1', 'repo/shared/b.yaml': '2', 'c.yaml': '3' }, async (cwd) => {
    symlinkSync(join('..', '..', 'c.yaml'), join(cwd, 'repo', 'shared', 'c.yaml'));

    expect(await found(join(cwd, 'repo', 'app'), ['.', '../shared'])).toEqual([
      '../shared/b.yaml',
      'a.yaml',
      '../shared/c.yaml: is a symbolic link that leads out of the given folder: it is not followed',
    ]);
  });
});
