/** A real registry (Debian's docker-registry) without TLS that wants a login. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, type Playground, waitUntil } from '../../servers/process.ts';

/** The password and its bcrypt hash: no code here makes such hashes. */
const PASSWORD = 'pull-s3cret';
const HASH = '$2y$05$abcdefghijklmnopqrstuu8a2gFagTmn.6YRhoJ/XF1B.t2u08R7W';

export interface LoginRegistry {
  /** `address:port`, the first part of its images' names. */
  readonly host: string;
  readonly username: string;
  readonly password: string;
}

/** Starts it, empty. It ends with the playground. */
export async function startLoginRegistry(playground: Playground, address: string): Promise<LoginRegistry> {
  const folder = playground.makeFolder('registry');
  const host = `${address}:${await freePort()}`;
  const username = 'puller';
  writeFileSync(join(folder, 'logins'), `${username}:${HASH}\n`);
  const config = {
    version: '0.1',
    log: { level: 'info' },
    storage: { filesystem: { rootdirectory: playground.makeFolder('registry-data') } },
    http: { addr: host },
    auth: { htpasswd: { realm: 'test', path: join(folder, 'logins') } },
  };
  writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
  const running = playground.start({
    command: 'docker-registry',
    args: ['serve', join(folder, 'config.json')],
    cwd: folder,
    env: {},
    logFile: join(folder, 'registry.log'),
  });
  const asksForLogin = (): Promise<boolean> =>
    fetch(`http://${host}/v2/`).then(
      ({ status }) => status === 401,
      () => false,
    );
  await waitUntil('the registry asks for a login', asksForLogin, { timeoutMs: 30_000, running });
  return { host, username, password: PASSWORD };
}
