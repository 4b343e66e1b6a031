/** A real forward proxy that requires a login: Debian's squid. Only it knows the name `gitea.test`. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, type Playground, statusOf, waitUntil } from './process.ts';

export const GITEA_NAME = 'gitea.test';
const PROGRAM = '/usr/sbin/squid';
const CHECK_LOGIN = '/usr/lib/squid/basic_ncsa_auth';

export interface Squid {
  /** `127.0.0.1:port`. */
  readonly host: string;
  /** Returns the requests with their users: `CONNECT host:port user status`. */
  readonly log: () => readonly string[];
}

export interface SquidOptions {
  readonly username: string;
  readonly password: string;
  /** Address to listen on, and of `gitea.test`. Default: loopback. */
  readonly address?: string;
}

/** Starts it. It ends with the playground. @throws if it is not installed */
export async function startSquid(
  playground: Playground,
  { username, password, address = '127.0.0.1' }: SquidOptions,
): Promise<Squid> {
  if (![PROGRAM, CHECK_LOGIN].every((file) => existsSync(file)))
    throw new Error('this test needs squid. Install it (Debian: squid).');
  const folder = playground.makeFolder('squid');
  const port = await freePort();
  const hash = execFileSync('openssl', ['passwd', '-apr1', '-stdin'], { input: password, encoding: 'utf8' }).trim();
  const file = (name: string): string => join(folder, name);
  writeFileSync(file('logins'), `${username}:${hash}\n`);
  writeFileSync(file('hosts'), `${address} ${GITEA_NAME}\n`);
  writeFileSync(
    file('squid.conf'),
    `http_port ${address}:${port}
auth_param basic program ${CHECK_LOGIN} ${file('logins')}
auth_param basic children 1
acl known proxy_auth REQUIRED
http_access allow known
http_access deny all
hosts_file ${file('hosts')}
logformat short %rm %ru %un %>Hs
access_log stdio:${file('access.log')} short
cache_log ${file('cache.log')}
pid_filename none
netdb_filename none
coredump_dir ${folder}
cache deny all
pinger_enable off
shutdown_lifetime 1 seconds
`,
  );
  const running = playground.start({
    command: PROGRAM,
    args: ['-N', '-f', file('squid.conf')],
    cwd: folder,
    env: {},
    logFile: file('output.log'),
  });
  await waitUntil('squid answers', () => statusOf(`http://${address}:${port}/`), { running });
  return {
    host: `${address}:${port}`,
    log: () => (existsSync(file('access.log')) ? readFileSync(file('access.log'), 'utf8').trim().split('\n') : []),
  };
}
