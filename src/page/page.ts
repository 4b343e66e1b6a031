/** The page for developers, on a port of its own. Without an address there is no page. This file connects its parts. */
import { type ListenAddress, startHttpServer } from '../serve/http/http-server.ts';
import { type Giteas, type GiteasOptions, openGiteas } from '../serve/looks/giteas.ts';
import { mistakeOf } from '../serve/planning/events.ts';
import type { Feature, FeatureContext } from '../serve/task.ts';
import { Failure } from '../shared/failure.ts';
import { FRESH_MS, LOOK, startLooker } from './look.ts';
import { QUEUES, readerRights } from './rights.ts';
import { pageRequests } from './server.ts';
import { SHORTEST_KEY, sessionsOf } from './session.ts';
import { oauthOf, type SignInSettings } from './sign-in.ts';
import { startTrends } from './trends.ts';

export interface PageOptions extends SignInSettings {
  readonly listen: ListenAddress;
  readonly clientSecretFile: string;
  /** File with one key per line. The first one encrypts. */
  readonly keyFile: string;
  /** Template for links to logs. '': there are none. */
  readonly logUrl: string;
  /** CPU time of this process. Default: what the system says. */
  readonly cpuMs?: () => number;
}

/** Room for `MOST_STREAMS`, and for as many requests for pages. Behind an Ingress all people have one address. */
const CONNECTIONS = { total: 256, perAddress: 256 };
/** The share of `serve`'s requests to Gitea that the page may send besides. */
const SHARE = 0.25;
const ownCpuMs = (): number => process.cpuUsage().user / 1000;

/** Opens the page on its own port. @throws Failure when a file or the address cannot be used */
export async function openPage(options: PageOptions, context: FeatureContext): Promise<Feature> {
  const { clientSecretFile, cpuMs = ownCpuMs, gitea, keyFile, listen, logUrl, url } = options;
  const { clock, watchSecrets } = context;
  const [keys, secrets] = [await watchSecrets(keyFile), await watchSecrets(clientSecretFile)];
  refuseShort(keyFile, keys(), SHORTEST_KEY);
  refuseShort(clientSecretFile, secrets(), 1);
  const giteas = ownGiteas(gitea, context);
  const looker = startLooker({ ...options, ...context, giteas, cpuMs });
  const trends = startTrends(context, giteas, looker.ownGroups);
  const isLong = ({ length }: string): boolean => length >= SHORTEST_KEY;
  const server = await startHttpServer({
    what: 'the page',
    address: listen,
    connections: CONNECTIONS,
    onRequest: pageRequests({
      url,
      clock,
      cpuMs,
      looker,
      trends,
      logUrl,
      onMistake: (error) => context.tell(mistakeOf(error)),
      rights: readerRights(gitea, giteas, clock),
      // A line that is too short is not a key: somebody may be writing it just now.
      sessions: sessionsOf(() => keys().filter(isLong), clock, url.startsWith('https:')),
      oauth: oauthOf(options, () => secrets()[0] ?? '', giteas, clock),
    }),
  });
  return {
    close: async () => {
      await Promise.all([server.close(), giteas.close()]);
    },
  };
}

/** Returns the request budgets of the page: equal parts for looks, rights and sign-ins, and a tenth for strangers. */
export function ownGiteas(gitea: string, options: Omit<GiteasOptions, 'pollMs'>): Giteas {
  const giteas = openGiteas({
    ...options,
    giteaRequests: options.giteaRequests * SHARE,
    pollMs: FRESH_MS,
    // A failure of the page's requests is not a failure of serve's looks.
    tell: (event) => event.is === 'gitea-request' && options.tell(event),
  });
  giteas.share(new Map([LOOK, QUEUES.rights, QUEUES.signIn].map((key) => [{ key, url: gitea }, new Set([key])])));
  return giteas;
}

/** Checks the lines of a Secret. @throws Failure: a line is too short, or there is none */
function refuseShort(file: string, lines: readonly string[], shortest: number): void {
  if (lines.length > 0 && lines.every(({ length }) => length >= shortest)) return;
  const [why, remedy] =
    lines.length === 0
      ? ['it is empty', 'Mount the Secret, or do without --page-listen']
      : [
          `each line must have at least ${shortest} characters`,
          'Write a longer one into the Secret: openssl rand -hex 32',
        ];
  throw new Failure('GR-PAGE-01', 1, `read a Secret of the page: ${file}: ${why}. ${remedy}.`);
}
