/** A browser's cookies and redirects over `fetch`, and no more. */

export interface Got {
  readonly status: number;
  readonly url: string;
  readonly headers: Headers;
  readonly text: string;
}

export class Browser {
  /** Cookies by origin, then by name. */
  readonly #jars = new Map<string, Map<string, string>>();

  /** Asks as a person does who follows a link. */
  async open(url: string, more: RequestInit = {}): Promise<Got> {
    let next = url;
    for (let hops = 0; hops < 10; hops += 1) {
      const got = await this.ask(next, hops === 0 ? more : {});
      const location = got.headers.get('location');
      if (got.status < 300 || got.status > 399 || location === null) return got;
      next = new URL(location, next).href;
    }
    throw new Error(`more than 10 redirects from ${url}`);
  }

  /** Sends one request. */
  async ask(url: string, more: RequestInit = {}): Promise<Got> {
    const jar = this.#jarOf(url);
    const headers = { ...(more.headers as Record<string, string>), ...this.headers(url) };
    const response = await fetch(url, { redirect: 'manual', ...more, headers });
    for (const set of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
      if (/Max-Age=0/.test(set)) jar.delete(name);
      else jar.set(name, value);
    }
    return { status: response.status, url, headers: response.headers, text: await response.text() };
  }

  /** Returns the headers with the browser's cookies. */
  headers(url: string): Readonly<Record<string, string>> {
    const cookie = [...this.#jarOf(url)].map(([name, value]) => `${name}=${value}`).join('; ');
    return cookie === '' ? {} : { cookie };
  }

  cookies(url: string): ReadonlyMap<string, string> {
    return this.#jarOf(url);
  }

  /** Puts a cookie into the jar, like an attacker who can write to it. */
  plant(url: string, name: string, value: string): void {
    this.#jarOf(url).set(name, value);
  }

  #jarOf(url: string): Map<string, string> {
    const { origin } = new URL(url);
    const jar = this.#jars.get(origin) ?? new Map<string, string>();
    this.#jars.set(origin, jar);
    return jar;
  }
}
