/** Argo CD with the token that is in its file now: Secrets are replaced while we run. */
import { readFile } from 'node:fs/promises';
import type { AppState } from '../../clients/argocd/app-state.ts';
import type { ApplicationRef } from '../../clients/argocd/application.ts';
import { ArgoCd, type ArgoCdOptions, type SyncStart } from '../../clients/argocd/argocd.ts';
import type { WakeTarget } from '../../clients/argocd/wake.ts';
import type { Deadline } from '../../clients/http/deadline.ts';
import { type Clock, systemClock } from '../../shared/clock.ts';
import { Failure, systemReason } from '../../shared/failure.ts';

export class ArgoCdAccess implements WakeTarget {
  readonly clock: Clock;
  readonly #options: Omit<ArgoCdOptions, 'token'>;
  readonly #tokenFile: string;
  #open: { readonly token: string; readonly argocd: ArgoCd } | undefined;

  constructor(options: Omit<ArgoCdOptions, 'token'>, tokenFile: string) {
    this.#options = options;
    this.clock = options.clock ?? systemClock;
    this.#tokenFile = tokenFile;
  }

  readonly read = async (app: ApplicationRef, deadline: Deadline): Promise<AppState> =>
    (await this.#argocd()).read(app, deadline);

  readonly refresh = async (app: ApplicationRef, deadline: Deadline): Promise<AppState> =>
    (await this.#argocd()).refresh(app, deadline);

  readonly sync = async (app: ApplicationRef, deadline: Deadline): Promise<SyncStart> =>
    (await this.#argocd()).sync(app, deadline);

  async close(): Promise<void> {
    await this.#open?.argocd.close();
  }

  /** @throws Failure when the file cannot be read or holds no token. */
  async #argocd(): Promise<ArgoCd> {
    const token = await this.#readToken();
    if (this.#open?.token === token) return this.#open.argocd;
    const argocd = new ArgoCd({ ...this.#options, token });
    // Requests under way with the old one end with an error and come again.
    void this.#open?.argocd.close();
    this.#open = { token, argocd };
    return argocd;
  }

  async #readToken(): Promise<string> {
    try {
      return await readFile(this.#tokenFile, 'utf8');
    } catch (error) {
      throw new Failure(
        'GR-SERVE-01',
        1,
        `read the token of Argo CD: ${this.#tokenFile}: ${systemReason(error)}. Mount the Secret, or give --argocd-token-file.`,
      );
    }
  }
}
