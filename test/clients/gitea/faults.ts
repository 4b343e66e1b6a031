/**
 * Ways in which a Gitea, or what stands before it, can fail a look at `org acme` that would otherwise find one queued job. Each is a request
 * handler for a real server and the whole text that a user must see. Bodies and headers carry `LEAK`, which may appear nowhere.
 */
import { json } from '../../support/gitea-stand-in.ts';
import {
  ACTIVE,
  alike,
  BUSY,
  bent,
  drip,
  endless,
  type Fault,
  JOBS,
  LEAK,
  LIMITED,
  NOT_JSON,
  onJobs,
  onPath,
  onRow,
  onShape,
  onVersion,
  raw,
  SERVER,
  SHAPE,
  status,
  text,
  version,
} from './fault.ts';
import { LIST_FAULTS } from './list-faults.ts';

export { type Fault, LEAK } from './fault.ts';

const UNEXPECTED = 'Check spec.gitea.url and what stands before Gitea';
const BETWEEN = 'Check the server and what stands before it';
const OR_TLS = `${BETWEEN}. If the port speaks https, write https`;
const NOT_HTTP = 'Check that the URL is that of a web server, http or https as it speaks it';
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';

const refused = (message: string) => text(JSON.stringify({ message }), 'application/json', 403);

const HTTP_FAULTS: readonly Fault[] = [
  onJobs(
    'the token is refused',
    'GR-GITEA-01',
    status(401),
    'Gitea does not accept the token (401)',
    'It has 12 characters, and tokens of Gitea have 40: put a valid one into the Secret of authToken',
  ),
  onJobs(
    'the token lacks a scope',
    'GR-GITEA-02',
    status(403),
    'Gitea forbids it (403)',
    'The token needs scope read:organization, and its user must be an owner of the org. It is in the Secret of authToken',
  ),
  onJobs(
    "the token's user has never signed in",
    'GR-GITEA-22',
    refused(`You must change your password. Change it at: ${LEAK}`),
    "Gitea refuses the token's user (403): it must change its password first",
    'Sign in as that user and change it, or: gitea admin user must-change-password --unset NAME. Or put a token of another user into the Secret of authToken',
  ),
  ...alike(
    'GR-GITEA-22',
    "Gitea refuses the token's user (403): it is not active, or may not sign in",
    'Let an administrator of Gitea activate it. Or put a token of another user into the Secret of authToken',
    {
      'its user is not activated': refused('This account is not activated.'),
      'its user is blocked': refused('This account is prohibited from signing in, please contact your zzz.'),
    },
  ),
  onJobs(
    'its user has one factor only',
    'GR-GITEA-22',
    refused('This Gitea instance requires users to enable two-factor authentication before they can zzz'),
    "Gitea refuses the token's user (403): it has no two-factor authentication, which this Gitea demands",
    'Sign in as that user and enable it. Or put a token of another user into the Secret of authToken',
  ),
  ...[401, 403].map((code) =>
    onJobs(
      `a firewall answers ${code} in the place of Gitea`,
      'GR-GITEA-07',
      text(`<html>${LEAK}</html>`, 'text/html', code),
      `a web page instead of JSON (${code})`,
      NOT_JSON,
    ),
  ),
  onJobs(
    'the org does not exist',
    'GR-GITEA-03',
    status(404),
    'not found (404)',
    "Check that org acme exists and that the token's user may see it. If acme is a user, write scope: user and user: acme",
  ),
  ...alike('GR-GITEA-06', 'an unexpected status (422)', UNEXPECTED, { 'the question is refused': status(422) }),
  ...alike('GR-GITEA-06', 'an unexpected status (204)', UNEXPECTED, {
    '204 instead of a list': (_seen, response) => response.writeHead(204).end(),
  }),
  onJobs(
    'a proxy wants a login',
    'GR-HTTP-08',
    status(407),
    'the proxy wants a login (407)',
    'Put user and password into the proxy URL',
  ),
  ...alike('GR-GITEA-18', 'Gitea limits how often it may be asked (429)', LIMITED, {
    '429 without Retry-After': status(429),
    'Retry-After: 0 for ever': status(429, { 'retry-after': '0' }),
  }),
  ...alike('GR-GITEA-04', 'Gitea, or what stands before it, is down or busy (503)', BUSY, {
    '503 with a page of HTML (the [qos] guard)': text(`<html>${LEAK}</html>`, 'text/html', 503),
    '503 with a Retry-After that cannot be read': status(503, { 'retry-after': LEAK }),
  }),
  onJobs('500 at every try', 'GR-GITEA-05', status(500), 'an error of the server (500)', SERVER),
  onJobs(
    '500 for want of a connection to the database',
    'GR-GITEA-05',
    text(JSON.stringify({ message: `${LEAK} pq: sorry, too many clients already ${LEAK}` }), 'application/json', 500),
    'an error of the server (500: too many clients)',
    SERVER,
  ),
  onJobs(
    'a proxy that reaches no Gitea',
    'GR-GITEA-05',
    status(502),
    'what stands before Gitea got no answer from it (502)',
    'Check that Gitea runs, and that this proxy has its right address',
  ),
  onJobs(
    'a redirect to another server',
    'GR-HTTP-11',
    status(302, { location: `http://other.invalid/${LEAK}` }),
    'a redirect (302) to http://other.invalid, another server, which is not followed',
    'That is a login page, as a rule: exempt /api from it',
  ),
  onJobs(
    'a redirect of all paths to the new host',
    'GR-HTTP-11',
    status(301, { location: `https://git.acme.invalid/code${JOBS}?${LEAK}` }),
    'a redirect (301) to https://git.acme.invalid, another server, which is not followed',
    'The server is at https://git.acme.invalid/code now: write that in spec.gitea.url, and in key url of the Secret with the token',
  ),
  onJobs(
    'a redirect to a base that holds more than plain words',
    'GR-HTTP-11',
    status(301, { location: `https://git.acme.invalid/${LEAK}=${JOBS}` }),
    'a redirect (301) to https://git.acme.invalid, another server, which is not followed',
    'That is a login page, as a rule: exempt /api from it',
  ),
  onJobs(
    'a redirect in a circle',
    'GR-HTTP-11',
    status(307, { location: JOBS }),
    'more than 3 redirects',
    'Use the address that the server gives itself',
  ),
  onJobs('a redirect without a target', 'GR-HTTP-11', status(301), 'a redirect (301) that leads nowhere', BETWEEN),
  onJobs(
    'a login page',
    'GR-GITEA-07',
    text(`<html>${LEAK}</html>`, 'text/html; charset=utf-8'),
    'a web page instead of JSON',
    NOT_JSON,
  ),
  ...alike('GR-GITEA-07', 'the answer is not JSON', NOT_JSON, {
    'JSON under another media type': text('{"jobs":[],"total_count":0}', 'text/plain'),
    'an empty body': text('', 'application/json'),
    'JSON that ends too early': text(`{"jobs":[],"note":"${LEAK}`, 'application/json'),
  }),
  onJobs(
    'bytes that are not UTF-8',
    'GR-HTTP-13',
    text(new Uint8Array([0x22, 0xff, 0xfe, 0x22]), 'application/json'),
    'the answer is not UTF-8 text',
    BETWEEN,
  ),
  ...alike('GR-HTTP-06', 'the answer is not HTTP that can be read', NOT_HTTP, {
    'something that is not HTTP': raw(`SSH-2.0-${LEAK}\r\n\r\n`),
    'headers without end': raw(`HTTP/1.1 200 OK\r\nx-a: ${LEAK.repeat(5000)}\r\n\r\n`),
  }),
  ...alike('GR-HTTP-04', 'the connection was closed before the answer was complete', OR_TLS, {
    'a connection closed before the answer': (_seen, _response, request) => request.socket.destroy(),
    'a body cut before its Content-Length': raw(`${HEAD}content-length: 500\r\n\r\n{"jobs":[],"note":"${LEAK}"}`),
    'a chunked body without its end': raw(
      `${HEAD}transfer-encoding: chunked\r\n\r\n1b\r\n{"jobs":[],"total_count":0}\r\n`,
    ),
  }),
  {
    ...onJobs('a body without end', 'GR-HTTP-12', endless, '', ''),
    // A page that is too long is read in parts, state by state.
    message: (origin) =>
      `list queued jobs of org acme: GET ${origin}${JOBS}: the answer is longer than 4096 KiB. Check that the URL is that of the right server.`,
  },
];

const TIME_FAULTS: readonly Fault[] = [
  ...Object.entries({ 'no answer at all': () => undefined, 'a body that drips': drip }).map(
    ([name, answer]): Fault => ({
      name,
      code: 'GR-HTTP-09',
      lasts: true,
      handler: bent(onPath(JOBS), answer),
      message: (origin, seconds) =>
        `${ACTIVE}: GET ${origin}${JOBS}: not done within the time limit of ${seconds} s. Check the load of the server, or raise --timeout.`,
    }),
  ),
  {
    name: 'a Retry-After beyond the time limit',
    code: 'GR-HTTP-10',
    handler: bent(onPath(JOBS), status(503, { 'retry-after': '3600' })),
    message: (origin, seconds) =>
      `${ACTIVE}: GET ${origin}${JOBS}: the server is busy (503) and asks to wait 3600 s, which does not fit into what is left of ${seconds} s. Try again later, or raise --timeout.`,
  },
];

const VERSION_FAULTS: readonly Fault[] = [
  onVersion(
    'Gitea 1.24',
    'GR-GITEA-11',
    version('1.24.7'),
    'this is Gitea 1.24.7, which cannot list jobs',
    'Upgrade it to 1.25.0 or newer',
  ),
  onVersion(
    'Forgejo',
    'GR-GITEA-12',
    version('13.0.2+gitea-1.22.0'),
    'this is Forgejo, whose API for jobs is another one',
    'Gitea 1.25.0 or newer is needed',
  ),
  onVersion(
    'a version that is no version',
    'GR-GITEA-13',
    version(LEAK),
    'the version is not of the form 1.27.3',
    'Gitea 1.25.0 or newer is needed; without its version its answers cannot be understood',
  ),
  onVersion(
    'a version that is no text',
    'GR-GITEA-08',
    (_seen, response) => json(response, { version: 127 }),
    'the answer is not what Gitea sends: the answer has no usable "version"',
    SHAPE,
  ),
  onVersion(
    'the token has no scope',
    'GR-GITEA-02',
    refused('token does not have at least one of required scope(s), required=[zzz]'),
    'Gitea forbids it (403): the token lacks each scope that reads',
    'The token needs a scope that reads: for an organization read:organization, of an owner. It is in the Secret of authToken',
  ),
  onVersion(
    'no Gitea at this address',
    'GR-GITEA-03',
    status(404),
    'not found (404)',
    'Check that spec.gitea.url is the base address of a Gitea',
  ),
];

const SHAPE_FAULTS: readonly Fault[] = [
  onShape('a bare array', [LEAK], 'the list is not an object of the expected form'),
  onShape('null', null, 'the list is not an object of the expected form'),
  onShape('no jobs', { jobs: null, total_count: 0 }, 'the list has no usable "jobs"'),
  onShape('no total_count', { jobs: [] }, 'the list has no usable "total_count"'),
  onShape('a total_count that is text', { jobs: [], total_count: LEAK }, 'the list has no usable "total_count"'),
  onShape(
    'a row that is no object',
    { jobs: [LEAK], total_count: 1 },
    'job number 1 of the page is not an object of the expected form',
  ),
  onRow('an id that is text', { id: '17' }, 'job number 1 of the page has no usable "id"'),
  onRow('a label that is no text', { labels: ['gpu', 7] }, 'job 17 has no usable "labels[1]"'),
  // rules.test.ts has the other fields.
  onRow('a time that is none', { created_at: LEAK }, 'job 17 has no usable "created_at"'),
];

/** Every fault, each under its own name. */
export const FAULTS: readonly Fault[] = [
  ...HTTP_FAULTS,
  ...TIME_FAULTS,
  ...VERSION_FAULTS,
  ...SHAPE_FAULTS,
  ...LIST_FAULTS,
];
