/** What each refusal of Argo CD means and what to do about it, in one place. Texts hold nothing that came in a body. */
import * as z from 'zod';
import type { Failure, FailureKind } from '../../shared/failure.ts';
import {
  failure,
  type HttpAnswer,
  type HttpRequest,
  insteadOfJson,
  parseJson,
  proxyWantsLogin,
} from '../http/request.ts';

/** What a request asks of the account, for the texts. */
export interface NeededRight {
  /** As RBAC names it. */
  readonly action: 'get' | 'sync';
  /** `name` or `namespace/name`, the object of an RBAC line below its project. */
  readonly object: string;
}

/** An error as the gateway writes it: gRPC code and message (grpc-gateway v1, runtime/errors.go). */
const GatewayError = z.object({ code: z.number(), message: z.string() });

const BASE = 'Check that the URL is the base address of Argo CD, with its root path if it has one';

const INVALID_ARGUMENT = 3;
const FAILED_PRECONDITION = 9;

/**
 * True when an operation is already under way (`ErrAnotherOperationInProgress` in util/argo/argo.go, wrapped by `Sync`): HTTP 400
 * with gRPC code 9. That code is also used for an Application that is being deleted and for git that cannot be reached.
 */
export function isBusy(answer: HttpAnswer): boolean {
  const error = readError(answer);
  return (
    answer.status === 400 &&
    error?.code === FAILED_PRECONDITION &&
    error.message.includes('another operation is already in progress')
  );
}

/** The Failure for an answer that is not 200. */
export function refusal(request: HttpRequest, answer: HttpAnswer, needs: NeededRight): Failure {
  const { status } = answer;
  const say = (code: string, received: string, remedy: string, kind?: FailureKind) =>
    failure(request, code, received, remedy, kind);
  switch (status) {
    case 401:
      return say(
        'GR-ARGOCD-03',
        'Argo CD does not accept the token (401)',
        'It is expired, revoked or of another Argo CD: make a new one with "argocd account generate-token" and put it into the Secret',
      );
    case 403:
      return readError(answer)?.message.includes('sync window')
        ? say(
            'GR-ARGOCD-05',
            'a sync window of the project forbids it (403)',
            'Wait for its end, or allow manual syncs in the window ("manualSync: true")',
          )
        : say('GR-ARGOCD-04', 'Argo CD forbids it (403)', forbidden(needs));
    case 404:
      return say('GR-ARGOCD-06', 'not found (404)', BASE);
    case 407:
      return proxyWantsLogin(request);
    case 429:
    case 503:
      return say(
        'GR-ARGOCD-07',
        `Argo CD is busy or starting (${status})`,
        'It is tried again; look at argocd-server',
        'rate-limited',
      );
    default:
      return status >= 500
        ? say(
            'GR-ARGOCD-08',
            `an error of the server (${status})`,
            'Look into the log of argocd-server',
            'server-error',
          )
        : other(request, answer);
  }
}

/** The Failure for a 200 that is no JSON. */
export function notJson(request: HttpRequest, answer: HttpAnswer): Failure {
  return failure(request, 'GR-ARGOCD-10', insteadOfJson(answer), `${BASE}, and that no login page stands before it`);
}

/** The Failure for JSON that is no Application, or another one; `detail` is a clause without values from outside. */
export function wrongShape(request: HttpRequest, detail: string): Failure {
  const remedy = 'Check what stands before Argo CD; if nothing does, report this with the version of Argo CD';
  return failure(request, 'GR-ARGOCD-11', `the answer is not what Argo CD sends: ${detail}`, remedy);
}

/** Argo CD says 403 for what does not exist too, so as not to tell what there is (`getAppEnforceRBAC`). */
function forbidden({ action, object }: NeededRight): string {
  return (
    `Give its account "p, <account>, applications, ${action}, <project>/${object}, allow" in argocd-rbac-cm; ` +
    'the same is answered when the Application does not exist, or when its namespace is not among application.namespaces'
  );
}

function other(request: HttpRequest, answer: HttpAnswer): Failure {
  const { status } = answer;
  const code = status === 400 ? readError(answer)?.code : undefined;
  if (code === INVALID_ARGUMENT) {
    const received = 'Argo CD does not accept the project of the Application (400, InvalidArgument)';
    const remedy =
      'The project does not exist, or its sourceNamespaces do not allow the namespace of the Application: correct spec.project or the AppProject';
    return failure(request, 'GR-ARGOCD-13', received, remedy);
  }
  if (code === FAILED_PRECONDITION) {
    const remedy =
      'The Application is being deleted, its git repository cannot be reached, or its sync options are forbidden: look at it in Argo CD';
    return failure(request, 'GR-ARGOCD-12', 'Argo CD cannot do that now (400, FailedPrecondition)', remedy);
  }
  const remedy = 'Check that the URL is that of Argo CD, with the right http or https';
  return failure(request, 'GR-ARGOCD-09', `an unexpected status (${status})`, remedy);
}

function readError({ mediaType, text }: HttpAnswer): z.infer<typeof GatewayError> | undefined {
  return mediaType === 'application/json' ? GatewayError.safeParse(parseJson(text)).data : undefined;
}
