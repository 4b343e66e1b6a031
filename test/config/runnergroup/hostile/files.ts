/** Odd and hostile things in the folder that is read, and odd PATHs. */
import { execFileSync } from 'node:child_process';
import { chmodSync, linkSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';

/**
 * Files in the folder beside the good `g.yaml`. `at`: path of the folder; beside it are `out/secret.yaml` and a folder
 * of almost the same name.
 */
export interface FileCase {
  readonly name: string;
  readonly make: (at: string) => void | Promise<() => void>;
  /** PATHs; none: the folder itself. */
  readonly paths?: (at: string) => readonly string[];
  /** Names of the files that are read, then `NAME: problem`. */
  readonly plain: readonly string[];
  /** Result with `--recursive`. Absent: the same. */
  readonly recursive?: readonly string[];
}

const text =
  (name: string, content = '') =>
  (at: string) =>
    writeFileSync(join(at, name), content);
const folder = (name: string) => (at: string) => void mkdirSync(join(at, name), { recursive: true });
const link = (target: string, name: string) => (at: string) => symlinkSync(target, join(at, name));
const pipe = (name: string) => (at: string) => void execFileSync('mkfifo', [join(at, name)]);
const all =
  (...made: readonly ((at: string) => void)[]) =>
  (at: string) => {
    for (const make of made) make(at);
  };
const nothing = all();
const isRoot = process.getuid?.() === 0;

const OUT = 'is a symbolic link that leads out of the given folder: it is not followed';
const NAMED_OUT = 'is a symbolic link that leads out of its folder: it is not followed';
const MISSING = 'no such file or folder';

const linkOut = (target: string): FileCase => ({
  name: `to ${target}`,
  make: link(target, 'p.yaml'),
  plain: ['g.yaml', `p.yaml: ${OUT}`],
});
const linkToFolder = (target: string): FileCase => ({
  name: `to the folder ${target}`,
  make: link(target, 'd'),
  plain: ['g.yaml'],
  recursive: ['g.yaml', `d: ${OUT}`],
});

export const LINKS: readonly FileCase[] = [
  ...['/etc/passwd', '../out/secret.yaml', '/proc/self/environ', '/dev/zero', '/etc'].map(linkOut),
  // The path begins with the folder's name.
  linkOut('../folder-other/x.yaml'),
  ...['/etc', '/', '..'].map(linkToFolder),
  {
    name: 'to a link that leads out',
    make: all(link('b.yaml', 'a.yaml'), link('/etc/passwd', 'b.yaml')),
    plain: ['g.yaml', `a.yaml: ${OUT}`, `b.yaml: ${OUT}`],
  },
  {
    name: 'out of a folder below',
    make: all(folder('d'), link('../../out/secret.yaml', 'd/p.yaml')),
    plain: ['g.yaml'],
    recursive: ['g.yaml', `d/p.yaml: ${OUT}`],
  },
  { name: 'out and in again', make: link('../folder/g.yaml', 'p.yaml'), plain: ['g.yaml'] },
  {
    name: 'in a circle of two',
    make: all(link('b.yaml', 'a.yaml'), link('a.yaml', 'b.yaml')),
    plain: ['g.yaml', ...['a', 'b'].map((name) => `${name}.yaml: is a symbolic link that leads to itself`)],
  },
  { name: 'to its own folder', make: link('.', 'd'), plain: ['g.yaml'] },
  { name: 'to its own folder, named like a file', make: link('.', 'd.yaml'), plain: ['g.yaml'] },
  { name: 'to a file beside it', make: link('g.yaml', 'a.yaml'), plain: ['a.yaml'] },
  {
    name: 'to a file beside it, absolute',
    make: (at) => symlinkSync(join(at, 'g.yaml'), join(at, 'a.yaml')),
    plain: ['a.yaml'],
  },
  { name: 'to nothing', make: link('nope', 'a.yaml'), plain: ['g.yaml', `a.yaml: ${MISSING}`] },
  { name: 'to nothing out of the folder', make: link('/nope', 'a.yaml'), plain: ['g.yaml', `a.yaml: ${MISSING}`] },
  {
    name: 'to nothing, not named like a file',
    make: link('nope', 'a'),
    plain: ['g.yaml'],
    recursive: ['g.yaml', `a: ${MISSING}`],
  },
  { name: 'to a hidden file', make: all(text('.h.yaml'), link('.h.yaml', 'h.yaml')), plain: ['g.yaml', 'h.yaml'] },
  { name: 'hidden', make: link('/etc/passwd', '.p.yaml'), plain: ['g.yaml'] },
  {
    name: 'hard, which nobody can tell',
    make: (at) => linkSync(join(at, '../out/secret.yaml'), join(at, 'h.yaml')),
    plain: ['g.yaml', 'h.yaml'],
  },
];

const DEEP = 'd/'.repeat(300);

export const KINDS: readonly FileCase[] = [
  { name: 'a pipe', make: pipe('p.yaml'), plain: ['g.yaml', 'p.yaml: is no regular file'] },
  {
    name: 'a socket',
    make: async (at) => {
      const server = createServer().listen(join(at, 's.yaml'));
      await new Promise((resolve) => server.once('listening', resolve));
      return () => server.close();
    },
    plain: ['g.yaml', 's.yaml: is no regular file'],
  },
  { name: 'a folder named like a file', make: folder('x.yaml'), plain: ['g.yaml'] },
  { name: 'an empty file', make: text('e.yaml'), plain: ['e.yaml', 'g.yaml'] },
  { name: 'a file of 4 MiB', make: text('h.yaml', '#'.repeat(4 * 1024 * 1024)), plain: ['g.yaml', 'h.yaml'] },
  {
    name: 'a file of 50 GB without content',
    make: all(text('s.yaml'), (at) => truncateSync(join(at, 's.yaml'), 50e9)),
    plain: [
      's.yaml: all files together have more than 4 MiB: keep RunnerGroups in a folder of their own, or name fewer files',
    ],
  },
  {
    name: 'a file without rights',
    make: all(text('n.yaml'), (at) => chmodSync(join(at, 'n.yaml'), 0)),
    plain: isRoot
      ? ['g.yaml', 'n.yaml']
      : ['g.yaml', 'n.yaml: cannot be read: permission denied. Make it readable for the user that runs gitea-runners'],
  },
  {
    name: 'a folder of 300 levels',
    make: all(folder(DEEP), text(`${DEEP}x.yaml`)),
    plain: ['g.yaml'],
    recursive: [`${DEEP}x.yaml`, 'g.yaml'],
  },
  { name: 'a Git folder', make: all(folder('.git'), text('.git/x.yaml')), plain: ['g.yaml'] },
];

export const NAMES: readonly FileCase[] = [
  {
    name: 'an escape sequence',
    make: text('\x1b[31mevil\n\rname.yaml'),
    plain: ['\u001b[31mevil\n\rname.yaml', 'g.yaml'],
  },
  { name: 'text that runs backwards', make: text('\u202elmay.yaml'), plain: ['g.yaml', '\u202elmay.yaml'] },
  { name: 'a leading dash', make: text('-R.yaml'), plain: ['-R.yaml', 'g.yaml'] },
  { name: 'two leading dots', make: text('..a.yaml'), plain: ['g.yaml'] },
  { name: 'nothing but the ending', make: text('.yaml'), plain: ['g.yaml'] },
  { name: '255 letters', make: text(`${'n'.repeat(250)}.yaml`), plain: ['g.yaml', `${'n'.repeat(250)}.yaml`] },
  { name: 'a space at the end', make: text('a.yaml '), plain: ['g.yaml'] },
  { name: 'capitals', make: text('a.YAML'), plain: ['g.yaml'] },
  { name: 'another ending behind', make: text('a.yaml.bak'), plain: ['g.yaml'] },
  { name: '.yml and .json', make: all(text('a.yml'), text('a.json')), plain: ['a.json', 'a.yml', 'g.yaml'] },
  { name: 'a backslash', make: text('..\\a.yaml'), plain: ['g.yaml'] },
  {
    name: 'bytes that are no UTF-8',
    make: (at) =>
      writeFileSync(Buffer.concat([Buffer.from(`${at}/`), Buffer.from([0xff, 0xfe]), Buffer.from('.yaml')]), ''),
    plain: ['g.yaml', `��.yaml: ${MISSING}`],
  },
];

export const PATHS: readonly FileCase[] = [
  { name: 'that is empty', make: nothing, paths: () => [''], plain: ['g.yaml'] },
  { name: 'with a slash at the end', make: nothing, paths: () => ['./'], plain: ['g.yaml'] },
  { name: 'of a file with a slash at the end', make: nothing, paths: () => ['g.yaml/'], plain: ['g.yaml'] },
  { name: 'with a NUL', make: nothing, paths: () => ['g.yaml\0'], plain: [`g.yaml\u0000: ${MISSING}`] },
  { name: 'twice', make: nothing, paths: (at) => ['g.yaml', '.', at, './././g.yaml'], plain: ['g.yaml'] },
  { name: 'of a device', make: nothing, paths: () => ['/dev/zero'], plain: ['/dev/zero: is no regular file'] },
  { name: 'of a pipe', make: pipe('pipe'), paths: () => ['pipe'], plain: ['pipe: is no regular file'] },
  { name: 'of a hidden file', make: text('.h'), paths: () => ['.h'], plain: ['.h'] },
  { name: 'of a link out', make: link('/etc', 'groups'), paths: () => ['groups'], plain: [`groups: ${NAMED_OUT}`] },
  {
    name: 'below a link out',
    make: link('/etc', 'groups'),
    paths: () => ['groups/passwd'],
    plain: [`groups/passwd: ${NAMED_OUT}`],
  },
  { name: 'of a parent folder', make: nothing, paths: () => ['../out'], plain: ['../out/secret.yaml'] },
  {
    name: 'of a link in a parent folder',
    make: (at) => symlinkSync('/etc/passwd', join(at, '../p.yaml')),
    paths: () => ['../p.yaml'],
    plain: [`../p.yaml: ${NAMED_OUT}`],
  },
  {
    name: 'that is not there',
    make: nothing,
    paths: () => ['nope', '../nope', 'g.yaml/x'],
    plain: [`nope: ${MISSING}`, `../nope: ${MISSING}`, `g.yaml/x: ${MISSING}`],
  },
  {
    name: 'of 5,000 letters',
    make: nothing,
    paths: () => ['a'.repeat(5000)],
    plain: [`${'a'.repeat(5000)}: has a path that is too long`],
  },
];
