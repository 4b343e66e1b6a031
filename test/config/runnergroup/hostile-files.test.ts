/** Tests odd and hostile files and PATHs, each with the result or the message (law F3). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MOST_BYTES } from '../../../src/config/runnergroup/budget.ts';
import { readFiles as find } from '../../../src/config/runnergroup/group-files.ts';
import { inFolder } from '../../support/group-files.ts';
import { runHere } from '../../support/run-cli.ts';
import { type FileCase, KINDS, LINKS, NAMES, PATHS } from './hostile/files.ts';

/** Returns the result of reading a folder with a good file and this one. */
async function outcomeOf({ make, paths }: FileCase, recursive: boolean): Promise<readonly string[]> {
  return await inFolder({ 'folder/g.yaml': '', 'out/secret.yaml': '', 'folder-other/x.yaml': '' }, async (top) => {
    const cwd = join(top, 'folder');
    const cleanUp = await make(cwd);
    const { files, problems } = find({ paths: paths?.(cwd) ?? [], recursive, cwd });
    cleanUp?.();
    return [...files.map(({ name }) => name), ...problems.map(({ place, message }) => `${place.file}: ${message}`)];
  });
}

describe.each(Object.entries({ 'a link': LINKS, 'there is': KINDS, 'a name with': NAMES, 'a PATH': PATHS }))(
  '%s',
  (_, cases) => {
    test.each(cases)('$name', async (each) => {
      expect(await outcomeOf(each, false)).toEqual(each.plain);
      expect(await outcomeOf(each, true)).toEqual(each.recursive ?? each.plain);
    });
  },
);

test('a file that says it is empty is read to its end', () => {
  const { files, problems } = find({ paths: ['/proc/self/status'], recursive: false, cwd: '/' });

  expect(problems).toEqual([]);
  expect(files[0]?.text).toMatch(/^Name:.*VmHWM.*\n$/s);
});

test('a file that grows faster than it is read comes to an end', async () => {
  await inFolder({}, async (cwd) => {
    const file = join(cwd, 'g.yaml');
    const script = `const fs = require('fs'); const chunk = '#'.repeat(65536);
      for (const end = Date.now() + 20000; Date.now() < end;) fs.writeFileSync(${JSON.stringify(file)}, chunk, { flag: fs.statSync(${JSON.stringify(file)}, { throwIfNoEntry: false })?.size > 8e6 ? 'w' : 'a' });`;
    const writer = spawn(process.execPath, ['-e', script], { stdio: 'ignore' });
    const ended = once(writer, 'exit');
    onTestFinished(() => void writer.kill());
    while (!existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));

    for (let round = 0; round < 200; round += 1) {
      const { files, problems } = find({ paths: [], recursive: false, cwd });
      const bytes = files.reduce((sum, { text }) => sum + text.length, 0);
      expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
      expect(files.length + problems.length).toBe(1);
    }

    writer.kill();
    await ended;
  });
});

test('the program tells no content of what is linked, and prints no name that steers the terminal', async () => {
  await inFolder({ 'secret/token': 'content-of-the-secret\n', 'app/g.yaml': '' }, async (top) => {
    const cwd = join(top, 'app');
    symlinkSync('../secret/token', join(cwd, 'a.yaml'));
    symlinkSync('/etc/passwd', join(cwd, 'b.yaml'));
    symlinkSync('/proc/self/environ', join(cwd, 'c.yaml'));
    writeFileSync(join(cwd, '\x1b[31m\u202eevil\n\rname.yaml'), 'bad: [');

    for (const command of [['generate', '--cluster', 'off'], ['validate'], ['validate', '-R', '..']]) {
      const { code, stdout, stderr } = await runHere(command, { MARK: 'content-of-the-environment' }, cwd);

      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toContain('\\u{1b}[31m\\u{202e}evil\\n\\rname.yaml:1:6: is no valid YAML');
      expect(stderr).toContain('b.yaml:1:1: is a symbolic link that leads out of the given folder: it is not followed');
      expect(stderr).not.toMatch(/content-of|root:x:|(?!\n)[\p{Cc}\p{Cf}]/u);
    }
  });
});
