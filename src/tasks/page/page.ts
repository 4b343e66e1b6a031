/** The page for developers: a port of its own, off without an address. What it needs of its settings, and how its parts fit together. */
import { HttpClient } from '../../clients/http/client.ts';
import { mistakeOf } from '../../serve/events.ts';
import { type ListenAddress, startHttpServer } from '../../serve/http/server.ts';
import type { Feature, FeatureContext } from '../../serve/task.ts';
import { Failure } from '../../shared/failure.ts';
import { type LookSettings, startLooker } from './look.ts';
import { readerRights } from './rights.ts';
import { pageRequests } from './server.ts';
import { SHORTEST_KEY, sessionsOf } from './session.ts';
import { oauthOf, type SignInSettings } from './sign-in.ts';

export interface PageOptions extends LookSettings, SignInSettings {
  readonly listen: ListenAddress;
  readonly clientSecretFile: string;
  /** One key per line; the first one encrypts. */
  readonly keyFile: string;
  /** '': there are no links to logs. */
  readonly logUrl: string;
}

/** A page with many streams must leave nobody waiting: `MOST_STREAMS`, and as many that ask for pages. Behind an Ingress all have one address. */
const CONNECTIONS = { total: 256, perAddress: 256 };
const ATTEMPT_MS = 5_000;
const LONGEST_ANSWER = 256 * 1024;

/** @throws Failure when a file or the address cannot be used. */
export async function openPage(options: PageOptions, context: FeatureContext): Promise<Feature> {
  const { ca, clientSecretFile, gitea, keyFile, listen, logUrl, url } = options;
  const { clock, env, watchSecrets } = context;
  const [keys, secrets] = [await watchSecrets(keyFile), await watchSecrets(clientSecretFile)];
  refuseShort(keyFile, keys(), SHORTEST_KEY);
  refuseShort(clientSecretFile, secrets(), 1);
  const http = new HttpClient({ ca, clock, env, attemptMs: ATTEMPT_MS, bodyLimit: LONGEST_ANSWER });
  const looker = startLooker({ ...options, ...context });
  const server = await startHttpServer({
    what: 'the page',
    address: listen,
    connections: CONNECTIONS,
    onRequest: pageRequests({
      url,
      clock,
      looker,
      logUrl,
      onMistake: (error) => context.tell(mistakeOf(error)),
      rights: readerRights(gitea, http, clock),
      sessions: sessionsOf({
        // A line that is too short is none: it may be one that somebody writes just now.
        keys: () => keys().filter((key) => key.length >= SHORTEST_KEY),
        clock,
        isSecure: url.startsWith('https:'),
      }),
      oauth: oauthOf({ ...options, clientSecret: () => secrets()[0] ?? '', http, clock }),
    }),
  });
  return {
    close: async () => {
      await Promise.all([server.close(), looker.close(), http.close()]);
    },
  };
}

/** @throws Failure: a line is too short, or there is none */
function refuseShort(file: string, lines: readonly string[], shortest: number): void {
  if (lines.length > 0 && lines.every(({ length }) => length >= shortest)) return;
  const why = shortest > 1 ? `each line must have at least ${shortest} characters` : 'it is empty';
  const remedy = 'Mount the Secret, or do without --page-listen';
  throw new Failure('GR-PAGE-01', 1, `read a Secret of the page: ${file}: ${why}. ${remedy}.`);
}
