/** A real Gitea: own folder, free port, one site administrator. */
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Account } from './account.ts';
import type { GiteaVersion } from './build.ts';
import { freePort, type Playground, type Running, statusOf, waitUntil } from './process.ts';

export interface GiteaOptions {
  /** Address to listen on; default loopback. */
  readonly address?: string;
  /** Further lines of app.ini. */
  readonly config?: string;
}

export interface Gitea {
  readonly version: GiteaVersion;
  /** Base URL without a trailing slash. */
  readonly url: string;
  /** Site administrator whose token has all scopes. */
  readonly admin: Account;
  readonly running: Running;
  /** Ends the server; its data stay. */
  readonly stop: () => Promise<void>;
  /** Starts it again after `stop`. */
  readonly restart: () => Promise<void>;
}

const ADMIN = 'chief';

/** Starts Gitea and waits until it answers. Its processes end with the playground. */
export async function startGitea(
  version: GiteaVersion,
  build: string,
  playground: Playground,
  { address = '127.0.0.1', config: more = '' }: GiteaOptions = {},
): Promise<Gitea> {
  const home = playground.makeFolder('gitea');
  const port = await freePort();
  const url = `http://${address}:${port}`;
  const config = join(home, 'app.ini');
  writeFileSync(config, appIni({ home, address, port, url, build }) + more);
  const command = join(build, 'gitea');
  const start = (name: string, ...args: string[]) => ({
    command,
    args: ['--config', config, ...args],
    cwd: home,
    env: { HOME: home },
    logFile: join(playground.folder, `gitea-${name}.log`),
  });
  await playground.run(start('migrate', 'migrate'));
  const password = randomBytes(12).toString('hex');
  const account = ['--username', ADMIN, '--email', `${ADMIN}@example.com`, '--password', password];
  await playground.run(start('user', 'admin', 'user', 'create', '--admin', '--must-change-password=false', ...account));
  const token = start('token', 'admin', 'user', 'generate-access-token', '-u', ADMIN, '--scopes', 'all', '--raw');
  await playground.run(token);
  const admin = new Account(url, ADMIN, readFileSync(token.logFile, 'utf8').trim().split('\n').at(-1) ?? '', password);
  const serve = async (): Promise<Running> => {
    const started = playground.start(start('web', 'web'));
    const isUp = async () => (await statusOf(`${url}/api/v1/version`)) === 200;
    await waitUntil(`start Gitea ${version}`, isUp, { running: started });
    return started;
  };
  let running = await serve();
  return {
    version,
    url,
    admin,
    get running() {
      return running;
    },
    stop: async () => {
      running.signal('SIGTERM');
      await running.exited;
    },
    restart: async () => {
      running = await serve();
    },
  };
}

function appIni(at: { home: string; address: string; port: number; url: string; build: string }): string {
  return `RUN_MODE = prod
WORK_PATH = ${at.home}
[database]
DB_TYPE = sqlite3
PATH = ${at.home}/gitea.db
SQLITE_JOURNAL_MODE = WAL
[repository]
ROOT = ${at.home}/repositories
[server]
HTTP_ADDR = ${at.address}
HTTP_PORT = ${at.port}
ROOT_URL = ${at.url}/
STATIC_ROOT_PATH = ${at.build}
DISABLE_SSH = true
OFFLINE_MODE = true
[security]
INSTALL_LOCK = true
SECRET_KEY = ${randomBytes(32).toString('hex')}
INTERNAL_TOKEN = ${randomBytes(32).toString('hex')}
[oauth2]
JWT_SECRET = ${randomBytes(32).toString('base64url')}
[service]
DISABLE_REGISTRATION = true
[actions]
ENABLED = true
[indexer]
ISSUE_INDEXER_TYPE = db
[cron.update_checker]
ENABLED = false
[log]
LEVEL = Warn
`;
}
