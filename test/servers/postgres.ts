/** PostgreSQL of Debian's package: own folder, free port, the unprivileged user of the playground. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Playground, waitUntil } from './process.ts';

const USER = 'gitea';
/** Debian has a folder for each version. */
const VERSIONS = '/usr/lib/postgresql';

/** Starts it and waits until it answers. Its processes end with the playground. */
export async function startPostgres(playground: Playground, port: number): Promise<void> {
  if (!existsSync(VERSIONS)) throw new Error('this test needs PostgreSQL. Install it (Debian: postgresql).');
  const newest = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a))[0] ?? '';
  const programs = join(VERSIONS, newest, 'bin');
  const home = playground.makeFolder('postgres');
  const data = join(home, 'data');
  const start = (name: string, args: readonly string[]) => ({
    command: join(programs, name),
    args,
    cwd: home,
    env: { HOME: home, LC_ALL: 'C.UTF-8' },
    logFile: join(playground.folder, `${name}.log`),
  });
  await playground.run(start('initdb', ['-D', data, '-U', USER, '--auth=trust', '--no-sync']));
  // No data outlives the test, so no setting is for safety.
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'shared_buffers=32MB'];
  const running = playground.start(
    start('postgres', ['-D', data, '-p', String(port), ...settings.flatMap((each) => ['-c', each])]),
  );
  const isUp = async () => (await sql(port, 'postgres', 'SELECT 1').catch(() => [])).length === 1;
  await waitUntil('start PostgreSQL', isUp, { running });
}

/** Runs SQL. Answers the rows, columns with `|` between them. */
export async function sql(port: number, database: string, text: string): Promise<readonly string[]> {
  const at = ['-h', '127.0.0.1', '-p', String(port), '-U', USER, '-d', database];
  const { stdout } = await promisify(execFile)('psql', [
    ...at,
    '-X',
    '-q',
    '-A',
    '-t',
    '-v',
    'ON_ERROR_STOP=1',
    '-c',
    text,
  ]);
  return stdout.split('\n').filter(Boolean);
}

/** Part of app.ini: this Gitea's database. */
export function inPostgres(port: number, database: string): string {
  return `[database]\nDB_TYPE = postgres\nHOST = 127.0.0.1:${port}\nNAME = ${database}\nUSER = ${USER}\nPASSWD =\n`;
}
