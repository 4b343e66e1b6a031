/** Turns an error of a socket into what a person can do. The texts hold nothing that the other side wrote. */

/** What a failure says about a request: why there was no usable answer, and what to do about it. */
export interface FailureParts {
  readonly code: string;
  readonly received: string;
  readonly remedy: string;
}

/** What a failure may say about the request. */
export interface Route {
  readonly host: string;
  /** Host and port of the proxy, when one is used. */
  readonly proxy?: string | undefined;
  /** Where a person gives the CA. Default: `with --ca-file`. */
  readonly caFrom?: string | undefined;
}

/** What to do when a CA is missing or unusable. @param caFrom where a person gives it */
export function giveCa(caFrom = 'with --ca-file'): string {
  return `Give the CA as PEM ${caFrom}`;
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
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string' && at.code !== '') return at.code;
  }
  return '';
}

/** True when the connection broke, which is worth a second try on a fresh one. */
export function isBrokenConnection(error: unknown): boolean {
  return CLOSED.has(errorCode(error));
}

/** What a failure says about an error of undici, a socket or TLS. */
export function partsOfTransportError(error: unknown, route: Route): FailureParts {
  const code = errorCode(error);
  const peer = route.proxy === undefined ? route.host : `the proxy ${route.proxy}`;
  // undici tells the status in its message only.
  if (route.proxy !== undefined && error instanceof Error && error.message.includes('(407)')) {
    return parts(
      'GR-HTTP-08',
      `the proxy ${route.proxy} wants a login, or another one (407)`,
      "Put user and password into the proxy's URL, percent-encoded",
    );
  }
  if (code === 'UND_ERR_ABORTED' && route.proxy !== undefined) {
    return parts(
      'GR-HTTP-08',
      `the proxy ${route.proxy} refused the connection to ${route.host}`,
      'Check the proxy, or put the host into NO_PROXY',
    );
  }
  if (UNKNOWN_NAME.has(code)) {
    return parts('GR-HTTP-02', `the name of ${peer} cannot be resolved`, 'Check the URL and the DNS of this pod');
  }
  if (code === 'ECONNREFUSED') {
    return parts('GR-HTTP-01', `${peer} refused the connection`, 'Check the URL and that the server is up');
  }
  if (UNREACHABLE.has(code)) {
    return parts(
      'GR-HTTP-03',
      `${peer} cannot be reached`,
      'Check the URL, network policies and whether a proxy is needed',
    );
  }
  if (CLOSED.has(code)) {
    return parts(
      'GR-HTTP-04',
      'the connection was closed before the answer was complete',
      'Check the server and what stands before it',
    );
  }
  return partsOfTlsError(code, route.caFrom) ?? partsOfProtocolError(code);
}

function partsOfTlsError(code: string, caFrom: string | undefined): FailureParts | undefined {
  if (UNKNOWN_CA.has(code)) {
    return parts('GR-HTTP-05', 'its certificate is signed by an unknown CA', giveCa(caFrom));
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return parts('GR-HTTP-05', 'its certificate is not valid at this time', 'Renew it, or set the clock');
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'UND_ERR_PRX_TLS') {
    return parts(
      'GR-HTTP-05',
      'its certificate is for another host name',
      'Use the name in the certificate, or renew the certificate',
    );
  }
  if (code === 'EPROTO' || /^ERR_(SSL|TLS|OSSL)/.test(code)) {
    return parts('GR-HTTP-05', 'no TLS connection could be made', 'Check that the port speaks https');
  }
  return undefined;
}

function partsOfProtocolError(code: string): FailureParts {
  if (code.startsWith('HPE_') || code === 'UND_ERR_HEADERS_OVERFLOW') {
    return parts(
      'GR-HTTP-06',
      'the answer is not HTTP that can be read',
      'Check that the URL is that of a web server, http or https as it speaks it',
    );
  }
  const known = /^[A-Z][A-Z0-9_]{1,60}$/.test(code) ? code : 'unknown';
  return parts('GR-HTTP-07', `the request failed (${known})`, 'Check the URL, the network and the server');
}

function parts(code: string, received: string, remedy: string): FailureParts {
  return { code, received, remedy };
}
