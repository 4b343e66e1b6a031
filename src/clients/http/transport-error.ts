/** Turns an error of a socket into what a person can do. The texts hold nothing that the other side wrote, but names of hosts. */
import type { Failure } from '../../shared/failure.ts';
import { firstNames } from '../../shared/printable.ts';
import { failure, type HttpRequest } from './request.ts';
import { giveCa, type Trust } from './wire.ts';

/** The parts of a request that a failure may name. */
export interface Route extends Pick<Trust, 'caFrom' | 'urlIs'> {
  readonly host: string;
  /** Host and port of the proxy, when one is used. */
  readonly proxy?: string | undefined;
}

const UNKNOWN_CA = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
const CLOSED = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH']);
const UNREACHABLE = new Set(['EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'UND_ERR_CONNECT_TIMEOUT']);
const UNKNOWN_NAME = new Set(['ENOTFOUND', 'EAI_AGAIN', 'EAI_NODATA', 'EAI_NONAME']);

/** The `code` of an error or of the first of its causes that has one; empty when there is none. */
function errorCode(error: unknown): string {
  // undici leaves the code out for a first line that is not HTTP at all.
  if (error instanceof Error && error.name === 'HTTPParserError') return 'HPE_INVALID';
  for (let cause: unknown = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if ('code' in cause && typeof cause.code === 'string' && cause.code !== '') return cause.code;
  }
  return '';
}

/** True when the connection broke, which is worth a second try on a fresh one. */
export function isBrokenConnection(error: unknown): boolean {
  return CLOSED.has(errorCode(error));
}

/** What came, and what to do. */
type Words = readonly [received: string, remedy: string];

/** Makes the Failure for an error of undici, a socket or TLS. */
export function transportFailure(request: HttpRequest, error: unknown, route: Route): Failure {
  const causeCode = errorCode(error);
  const ofProxy = wordsOfProxy(causeCode, error, route);
  if (ofProxy) return failure(request, 'GR-HTTP-08', ...ofProxy, 'unreachable');
  const ofTls = wordsOfTls(causeCode, error, route);
  if (ofTls) return failure(request, 'GR-HTTP-05', ...ofTls, 'untrusted');
  return failure(request, ...wordsOfSocket(causeCode, request.url.protocol, route), 'unreachable');
}

function wordsOfProxy(causeCode: string, error: unknown, { host, proxy }: Route): Words | undefined {
  if (proxy === undefined) return undefined;
  // undici tells the status in its message only.
  if (error instanceof Error && error.message.includes('(407)')) {
    const remedy = "Put user and password into the proxy's URL, percent-encoded";
    return [`the proxy ${proxy} wants a login, or another one (407)`, remedy];
  }
  if (causeCode !== 'UND_ERR_ABORTED') return undefined;
  return [`the proxy ${proxy} refused the connection to ${host}`, 'Check the proxy, or put the host into NO_PROXY'];
}

function wordsOfTls(causeCode: string, error: unknown, { caFrom, host }: Route): Words | undefined {
  if (UNKNOWN_CA.has(causeCode)) return ['its certificate is signed by an unknown CA', giveCa(caFrom)];
  if (causeCode === 'CERT_HAS_EXPIRED')
    return ['its certificate has expired', 'Renew it. If it is new, look at the clock of where this runs'];
  if (causeCode === 'CERT_NOT_YET_VALID')
    return ['its certificate is not valid yet', 'Look at the clock of where this runs'];
  if (causeCode === 'ERR_TLS_CERT_ALTNAME_INVALID' || causeCode === 'UND_ERR_PRX_TLS') {
    const remedy = 'Use the name in the certificate, or renew the certificate';
    const { cert } = Object(error instanceof Error ? (error.cause ?? error) : error);
    const names = String(Object(cert).subjectaltname).match(/(?<=DNS:|IP Address:)[\w*.:-]{1,80}/g) ?? ['another name'];
    return [`its certificate is for ${firstNames(names, 3)}, and not for ${host}`, remedy];
  }
  const isOfTls = causeCode === 'EPROTO' || /^ERR_(SSL|TLS|OSSL)/.test(causeCode);
  return isOfTls ? ['no TLS connection could be made', 'Check that the port speaks https'] : undefined;
}

function wordsOfSocket(
  causeCode: string,
  protocol: string,
  { host, proxy, urlIs = 'the URL' }: Route,
): readonly [code: string, ...Words] {
  const peer = proxy === undefined ? host : `the proxy ${proxy}`;
  if (UNKNOWN_NAME.has(causeCode))
    return ['GR-HTTP-02', `the name of ${peer} cannot be resolved`, `Check ${urlIs}, and the DNS of where this runs`];
  if (causeCode === 'ECONNREFUSED')
    return ['GR-HTTP-01', `${peer} refused the connection`, `Check ${urlIs} and that the server is up`];
  if (UNREACHABLE.has(causeCode))
    return [
      'GR-HTTP-03',
      `${peer} cannot be reached`,
      `Check ${urlIs}, network policies and whether a proxy is needed`,
    ];
  if (CLOSED.has(causeCode)) {
    const received = 'the connection was closed before the answer was complete';
    const orTls = protocol === 'http:' ? '. If the port speaks https, write https' : '';
    return ['GR-HTTP-04', received, `Check the server and what stands before it${orTls}`];
  }
  if (causeCode.startsWith('HPE_') || causeCode === 'UND_ERR_HEADERS_OVERFLOW') {
    const remedy = 'Check that the URL is that of a web server, http or https as it speaks it';
    return ['GR-HTTP-06', 'the answer is not HTTP that can be read', remedy];
  }
  const shownCode = /^[A-Z][A-Z0-9_]{1,60}$/.test(causeCode) ? causeCode : 'unknown';
  return ['GR-HTTP-07', `the request failed (${shownCode})`, `Check ${urlIs}, the network and the server`];
}
