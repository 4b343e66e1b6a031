/** Maps each error of Gitea to its meaning and remedy. Messages hold nothing of an answer's body. */
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

/** Remedies for an endpoint to which Gitea gives no access. */
export interface AccessHints {
  /** Rights to check after a 403. */
  readonly rights: Rights;
  /** Things to check after a 404. */
  readonly missing: string;
}

export function failureOfStatus(
  request: HttpRequest,
  answer: HttpAnswer,
  hints: AccessHints,
  { source }: Token,
): Failure {
  const { status } = answer;
  const { scope, user } = hints.rights;
  const say = failure.bind(undefined, request);
  // Gitea's API answers in JSON: this is of something before it.
  if ((status === 401 || status === 403) && answer.mediaType === 'text/html')
    return failureOfOtherContent(request, answer);
  switch (status) {
    case 401:
      return say(
        'GR-GITEA-01',
        'Gitea does not accept the token (401)',
        `It is expired, deleted or of another Gitea: put a valid one into ${source}`,
        'unauthorized',
      );
    case 403: {
      const refused = ofUser(answer);
      if (refused) {
        const [why, remedy] = refused;
        return say('GR-GITEA-22', `Gitea refuses the token's user (403): ${why}`, remedy, 'user-refused');
      }
      return say(
        'GR-GITEA-02',
        `Gitea forbids it (403)${complaint(answer, hints.rights)}`,
        `The token needs ${scope}${user === undefined ? '' : `, and its user must be ${user}`}. It is in ${source}`,
        'forbidden',
      );
    }
    case 404:
      return say('GR-GITEA-03', 'not found (404)', hints.missing, 'not-found');
    case 407:
      return proxyWantsLogin(request);
    case 429:
      return say(
        'GR-GITEA-18',
        'Gitea limits how often it may be asked (429)',
        'Try again later; if it stays so, raise the limit of Gitea or of what stands before it, or look at fewer scopes',
        'rate-limited',
      );
    case 503:
      return say(
        'GR-GITEA-04',
        `Gitea, or what stands before it, is down or busy (503)${throughProxy(answer)}`,
        orProxy(
          'Try again later; if it stays so, see whether Gitea runs. If it does, look at its load and its [qos] settings',
          answer,
          request,
        ),
        'server-error',
      );
    case 502:
    case 504:
      return say(
        'GR-GITEA-05',
        `what stands before Gitea got no answer from it (${status})${throughProxy(answer)}`,
        orProxy('Check that Gitea runs, and that this proxy has its right address', answer, request),
        'server-error',
      );
    default:
      return status >= 500
        ? say(
            'GR-GITEA-05',
            `an error of the server (${status})${throughProxy(answer)}`,
            orProxy("Look into Gitea's log and at what stands before it", answer, request),
            'server-error',
          )
        : say('GR-GITEA-06', `an unexpected status (${status})`, 'Check spec.gitea.url and what stands before Gitea');
  }
}

/** Texts of a 403 (1.25 to 1.27). They are compared here and never repeated. */
const LACKS_SCOPE = /token does not have at least one of required scope\(s\)/;
const LACKS_PLACE = /\b(?:owner|admin|member|collaborator|permission)\b/i;

/** Returns the first characters of an answer, in which Gitea's texts stand: they are short. */
export function beginOf({ text }: HttpAnswer): string {
  return text.slice(0, 1_000);
}

const INACTIVE = ['it is not active, or may not sign in', 'Let an administrator of Gitea see to it'] as const;
const OLD_PASSWORD = [
  'it must change its password first',
  'Sign in as that user and change it, or: gitea admin user must-change-password --unset NAME',
] as const;
const ONE_FACTOR = [
  'it has no two-factor authentication, which this Gitea demands',
  'Sign in as that user and enable it',
] as const;

/** Returns why Gitea keeps out the token's user, and the remedy (`verifyAuthWithOptions`, 1.25 to 1.27). */
function ofUser(answer: HttpAnswer): readonly [why: string, remedy: string] | undefined {
  const begin = beginOf(answer);
  if (/must change your password/.test(begin)) return OLD_PASSWORD;
  if (/account is (?:not activated|prohibited from signing in)/.test(begin)) return INACTIVE;
  return /enable two-factor authentication/.test(begin) ? ONE_FACTOR : undefined;
}

/** Returns the reason of a 403: the token's scope or its user. Empty if the text does not tell. */
function complaint(answer: HttpAnswer, { scope, user }: Rights): string {
  const begin = beginOf(answer);
  if (LACKS_SCOPE.test(begin)) return `: the token lacks ${scope}`;
  return user !== undefined && LACKS_PLACE.test(begin) ? `: the token's user is not ${user}` : '';
}

/** True when Gitea refuses the token: another one in its place may help. */
export function isRefusal({ kind }: Failure): boolean {
  return kind === 'unauthorized' || kind === 'forbidden' || kind === 'user-refused';
}

export function failureOfOtherContent(request: HttpRequest, answer: HttpAnswer): Failure {
  const remedy = "Check that spec.gitea.url is Gitea's base address and that no login page or portal stands before it";
  const status = answer.status === 200 ? '' : ` (${answer.status})`;
  return failure(request, 'GR-GITEA-07', `${insteadOfJson(answer)}${status}`, orProxy(remedy, answer, request));
}

/** The Failure for JSON that cannot be read; `detail` is a clause of `ShapeError`. */
export function failureOfShape(request: HttpRequest, detail: string): Failure {
  const remedy =
    'Nothing was rendered. Check what stands before Gitea; if nothing does, report this with the version of Gitea';
  return failure(request, 'GR-GITEA-08', `the answer is not what Gitea sends: ${detail}`, remedy);
}

/** The Failure (exit 3) for an address that the token is not bound to. `action` is an operation with its object, `place` an address. */
export function foreignToken(action: string, place: string, token: Token): Failure {
  const message = `${action} of ${place}: its token belongs to ${token.base} and is sent nowhere else. Bind a token to that Gitea.`;
  return new Failure('GR-GITEA-15', 3, message);
}
