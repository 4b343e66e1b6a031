/** Argo CD with the token that is in its file now: Secrets are replaced while we run. */
import { readFile } from 'node:fs/promises';
import { ArgoCd, type ArgoCdOptions } from '../../clients/argocd/argocd.ts';
import type { WakeTarget } from '../../clients/argocd/wake.ts';
import type { Clock } from '../../shared/clock.ts';
import { Failure, systemReason } from '../../shared/failure.ts';

export function argocdWithToken(
  tokenFile: string,
  options: Omit<ArgoCdOptions, 'token'> & { readonly clock: Clock },
): WakeTarget & { readonly close: () => Promise<void> } {
  let open: { readonly token: string; readonly argocd: ArgoCd } | undefined;
  /** @throws Failure when the file cannot be read or holds no token. */
  const argocd = async (): Promise<ArgoCd> => {
    const token = await readToken(tokenFile);
    if (open?.token === token) return open.argocd;
    const next = new ArgoCd({ ...options, token });
    // Requests under way with the old one end with an error and come again.
    void open?.argocd.close();
    open = { token, argocd: next };
    return next;
  };
  return {
    clock: options.clock,
    read: async (app, deadline) => (await argocd()).read(app, deadline),
    refresh: async (app, deadline) => (await argocd()).refresh(app, deadline),
    sync: async (app, deadline) => (await argocd()).sync(app, deadline),
    close: async () => await open?.argocd.close(),
  };
}

async function readToken(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const what = `read the token of Argo CD: ${file}: ${systemReason(error)}`;
    throw new Failure('GR-SERVE-01', 1, `${what}. Mount the Secret, or give --argocd-token-file.`);
  }
}
