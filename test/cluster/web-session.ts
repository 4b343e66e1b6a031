import { randomBytes } from 'node:crypto';
import type { Account } from '../servers/account.ts';

/** A person in a browser. */
export class WebSession {
  readonly #url: string;
  readonly #cookies: string;

  private constructor(url: string, cookies: string) {
    this.#url = url;
    this.#cookies = cookies;
  }

  static async open(admin: Account, username: string): Promise<WebSession> {
    const password = randomBytes(12).toString('hex');
    const email = `${username}@example.com`;
    await admin.call('POST', '/admin/users', { username, email, password, must_change_password: false });
    const response = await fetch(`${admin.url}/user/login`, {
      method: 'POST',
      body: new URLSearchParams({ user_name: username, password }),
      redirect: 'manual',
    });
    if (response.status !== 303 && response.status !== 302) throw new Error(`log in: HTTP ${response.status}`);
    // Gitea sends a cookie twice when it gives a new session after a login.
    const cookies = new Map(
      response.headers.getSetCookie().map((cookie) => {
        const [pair = ''] = cookie.split(';');
        return [pair.split('=', 1).join(''), pair];
      }),
    );
    return new WebSession(admin.url, [...cookies.values()].join('; '));
  }

  async post(path: string): Promise<void> {
    const response = await fetch(`${this.#url}${path}`, { method: 'POST', headers: { cookie: this.#cookies } });
    if (!response.ok) throw new Error(`POST ${path}: HTTP ${response.status}`);
  }
}
