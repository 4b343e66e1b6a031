/** Maps each error of Gitea to its meaning and remedy. Of an answer's body, messages hold only words that are known here. */
import { Failure } from '../../shared/failure.ts';
import {
  failure,
  type HttpAnswer,
  type HttpRequest,
  insteadOfJson,
  orProxy,
  proxyWantsLogin,
  throughProxy,
} from '../http/request.ts';
import type { Token } from '../tokens/token.ts';

/** Rights that Gitea demands before it answers (routers/api/v1/api.go). */
export interface Rights {
  /** Scope of the token: `scope read:organization`. */
  readonly scope: string;
  /** Role that the token's user needs: `an owner of the org`. Absent: the scope is enough. */
  readonly user?: string;
}

/** Of a question that each scope may ask. */
export const ANY_RIGHTS: Rights = { scope: 'a scope that reads: for an organization read:organization, of an owner' };

/** Remedies for an endpoint to which Gitea gives no access. */
export interface AccessHints {
  readonly rights: Rights;
  /** Things to check after a 404. */
  readonly missing: string;
}

/** Makes the Failure for an unexpected status of Gitea, or of what stands before it. */
export function failureOfStatus(request: HttpRequest, answer: HttpAnswer, hints: AccessHints, token: Token): Failure {
  const { status } = answer;
  const say = failure.bind(undefined, request);
  // Gitea's API answers in JSON. So this answer comes from a proxy before it.
  if ((status === 401 || status === 403) && answer.mediaType === 'text/html')
    return failureOfOtherContent(request, answer);
  switch (status) {
    case 401: {
      const why = token.fault ?? 'It is expired, deleted or of another Gitea';
      const remedy = `${why}: put a valid one into ${token.source}`;
      return say('GR-GITEA-01', 'Gitea does not accept the token (401)', remedy, 'unauthorized');
    }
    case 403:
      return failureOfRights(request, answer, hints.rights, token);
    case 404:
      return say('GR-GITEA-03', 'not found (404)', hints.missing, 'not-found');
    case 407:
      return proxyWantsLogin(request);
    case 429: {
      const remedy =
        'Try again later; if it stays so, raise the limit of Gitea or of what stands before it, or look at fewer scopes';
      return say('GR-GITEA-18', 'Gitea limits how often it may be asked (429)', remedy, 'rate-limited');
    }
    case 503: {
      const received = `Gitea, or what stands before it, is down or busy (503)${throughProxy(answer)}`;
      const remedy =
        'Try again later; if it stays so, see whether Gitea runs. If it does, look at its load and its [qos] settings';
      return say('GR-GITEA-04', received, orProxy(remedy, answer, request), 'server-error');
    }
    case 502:
    case 504: {
      const received = `what stands before Gitea got no answer from it (${status})${throughProxy(answer)}`;
      const remedy = orProxy('Check that Gitea runs, and that this proxy has its right address', answer, request);
      return say('GR-GITEA-05', received, remedy, 'server-error');
    }
    default: {
      const address = 'Check spec.gitea.url and what stands before Gitea';
      if (status < 500) return say('GR-GITEA-06', `an unexpected status (${status})`, address);
      const remedy = orProxy("Look into Gitea's log and at what stands before it", answer, request);
      const what = [status, ...(OF_DATABASE.exec(beginningOf(answer)) ?? [])].join(': ');
      return say('GR-GITEA-05', `an error of the server (${what})${throughProxy(answer)}`, remedy, 'server-error');
    }
  }
}

/** Makes the Failure for a 403: Gitea keeps the user out, or the token has too few rights. */
function failureOfRights(request: HttpRequest, answer: HttpAnswer, rights: Rights, { source }: Token): Failure {
  const [, why, mend] = REFUSALS_OF_USER.find(([text]) => text.test(beginningOf(answer))) ?? [];
  if (why !== undefined) {
    const remedy = `${mend}. Or put a token of another user into ${source}`;
    return failure(request, 'GR-GITEA-22', `Gitea refuses the token's user (403): ${why}`, remedy, 'user-refused');
  }
  const user = rights.user === undefined ? '' : `, and its user must be ${rights.user}`;
  const remedy = `The token needs ${rights.scope}${user}. It is in ${source}`;
  const received = `Gitea forbids it (403)${reasonOfRefusal(answer, rights)}`;
  return failure(request, 'GR-GITEA-02', received, remedy, 'forbidden');
}

/** Texts of a 403 (1.25 to 1.27). They are compared here and never repeated. */
const LACKS_SCOPE = /token does not have at least one of required scope\(s\)/;
const LACKS_PLACE = /\b(?:owner|admin|member|collaborator|permission)\b/i;
/** Words of a database or a disk in the message of a 500. Only these are repeated. */
const OF_DATABASE = /too many (?:clients|connections)|connection slots|database is locked|no space left on device/i;

/** Returns the first characters of an answer, in which Gitea's texts stand: they are short. */
export function beginningOf({ text }: HttpAnswer): string {
  return text.slice(0, 1_000);
}

/** Texts with which Gitea keeps out the token's user: why, and the remedy (`verifyAuthWithOptions`, 1.25 to 1.27). */
const REFUSALS_OF_USER: readonly (readonly [text: RegExp, why: string, remedy: string])[] = [
  [
    /must change your password/,
    'it must change its password first',
    'Sign in as that user and change it, or: gitea admin user must-change-password --unset NAME',
  ],
  [
    /account is (?:not activated|prohibited from signing in)/,
    'it is not active, or may not sign in',
    'Let an administrator of Gitea activate it',
  ],
  [
    /enable two-factor authentication/,
    'it has no two-factor authentication, which this Gitea demands',
    'Sign in as that user and enable it',
  ],
];

/** Returns the reason of a 403: the token's scope or its user. Empty if the text does not tell. */
function reasonOfRefusal(answer: HttpAnswer, { scope, user }: Rights): string {
  const begin = beginningOf(answer);
  if (LACKS_SCOPE.test(begin))
    return `: the token lacks ${scope === ANY_RIGHTS.scope ? 'each scope that reads' : scope}`;
  return user !== undefined && LACKS_PLACE.test(begin) ? `: the token's user is not ${user}` : '';
}

/** True when Gitea refuses the token: another one in its place may help. */
export function isRefusal({ kind }: Failure): boolean {
  return kind === 'unauthorized' || kind === 'forbidden' || kind === 'user-refused';
}

/** Makes the Failure for an answer that is not JSON: of a login page, a portal or a proxy. */
export function failureOfOtherContent(request: HttpRequest, answer: HttpAnswer): Failure {
  const remedy = "Check that spec.gitea.url is Gitea's base address and that no login page or portal stands before it";
  const status = answer.status === 200 ? '' : ` (${answer.status})`;
  return failure(request, 'GR-GITEA-07', `${insteadOfJson(answer)}${status}`, orProxy(remedy, answer, request));
}

/** Makes the Failure for JSON that cannot be read. @param detail a clause of `ShapeError` */
export function failureOfShape(request: HttpRequest, detail: string): Failure {
  const remedy =
    'Nothing was rendered. Check what stands before Gitea; if nothing does, report this with the version of Gitea';
  return failure(request, 'GR-GITEA-08', `the answer is not what Gitea sends: ${detail}`, remedy);
}

/** Makes the Failure (exit 3) for an address that the token is not bound to. @param action with its object */
export function foreignToken(action: string, place: string, token: Token): Failure {
  const message = `${action} of ${place}: its token belongs to ${token.base} and is sent nowhere else. Bind a token to that Gitea.`;
  return new Failure('GR-GITEA-15', 3, message);
}
