/** Answers that are wrong below JSON: status, headers, encoding, connection, redirects, versions. */
import { gzipSync } from 'node:zlib';
import { type Answer, bent, LEAK, onPath, raw, status, text, version } from '../fault.ts';
import { answers, type Expected, type HostileAnswer, job, ONE_JOB } from './answer.ts';

const EMPTY = '{"jobs":[],"total_count":0}';
const NOT_JSON = { code: 'GR-GITEA-07' } as const;
const NOT_TEXT = { code: 'GR-HTTP-13' } as const;
const NOT_HTTP = { code: 'GR-HTTP-06' } as const;
const BROKEN = { code: 'GR-HTTP-04' } as const;
const TOO_LATE = { code: 'GR-HTTP-09' } as const;
const TOO_LONG = { code: 'GR-HTTP-12' } as const;
const REDIRECT = { code: 'GR-HTTP-11' } as const;

const STATUSES: readonly HostileAnswer[] = (
  [
    [206, 'GR-GITEA-06'],
    [300, 'GR-GITEA-06'],
    [304, 'GR-GITEA-06'],
    [418, 'GR-GITEA-06'],
    [999, 'GR-GITEA-05'],
  ] as const
).map(([code, expected]) => answers(`status ${code}`, { code: expected }, status(code)));

/** A redirect of a request for jobs. */
const redirect = (name: string, target: (other: string) => string, code = 302): HostileAnswer =>
  answers(name, REDIRECT, (other: string): Answer => status(code, { location: target(other) }));

const REDIRECTS: readonly HostileAnswer[] = [
  redirect('a redirect to another port of this machine', (other) => `${other}/api/v1/orgs/acme/actions/jobs`),
  redirect('a redirect that keeps the method', (other) => `${other}/`, 307),
  redirect('a redirect for ever', (other) => `${other}/`, 308),
  redirect('a redirect without a scheme', (other) => other.replace('http:', '')),
  redirect('a redirect with a user', (other) => other.replace('http://', 'http://a:b@')),
  redirect('a redirect to the metadata of a cloud', () => 'http://169.254.169.254/latest/meta-data/'),
  redirect('a redirect to a file', () => 'file:///etc/passwd'),
  redirect('a redirect to data', () => 'data:application/json,{"jobs":[],"total_count":0}'),
  redirect('a redirect that runs code', () => 'javascript:alert(1)'),
  redirect('a redirect that is no address', () => 'http://['),
];

/** A body as JSON. */
const typed = (name: string, expected: Expected, type: string, content: string | Uint8Array = EMPTY): HostileAnswer =>
  answers(name, expected, text(content, type));

const TYPES: readonly HostileAnswer[] = [
  typed('JSON in upper case: the same type', { jobs: 0 }, 'Application/JSON; charset=UTF-8'),
  typed('JSON without a type', NOT_JSON, ''),
  typed('a web page as JSON', NOT_JSON, 'application/json', `<html>${LEAK}</html>`),
  typed('half a character', NOT_TEXT, 'application/json', new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22])),
  typed('3 MiB of spaces before the list', { jobs: 0 }, 'application/json', `${' '.repeat(3 * 1024 * 1024)}${EMPTY}`),
];

/** 50 MiB of spaces in 50 KB. Nobody has asked for a compressed body, so none is unpacked. */
const packed: Answer = (_seen, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
  response.end(gzipSync(Buffer.alloc(50 * 1024 * 1024, ' ')));
};

const BODIES: readonly HostileAnswer[] = [
  answers('a gzip bomb', NOT_TEXT, packed),
  answers('300 MiB of letters', TOO_LONG, (_seen, response) => {
    const block = Buffer.alloc(1024 * 1024, 'a');
    let left = 300;
    response.writeHead(200, { 'content-type': 'application/json' });
    const more = (): void => {
      while (left > 0 && !response.destroyed && response.write(block)) left -= 1;
      if (left <= 0) response.end();
    };
    response.on('drain', more);
    more();
  }),
  {
    ...answers('a length of 100 GB and one byte', TOO_LATE, (_seen, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '99999999999' });
      response.write('{');
    }),
    lasts: true,
  },
  answers('a body that is cut off by a reset', BROKEN, (_seen, response, request) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"jobs":[');
    setTimeout(() => request.socket.resetAndDestroy(), 20);
  }),
  answers(
    'a body that is longer than its length',
    NOT_JSON,
    raw(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 10\r\nconnection: close\r\n\r\n${EMPTY}`),
  ),
  answers('a list in pieces of one byte', ONE_JOB, (seen, response) => {
    const found = seen.query.getAll('status').includes('queued') ? [job(1)] : [];
    response.writeHead(200, { 'content-type': 'application/json' });
    for (const character of JSON.stringify({ jobs: found, total_count: found.length })) response.write(character);
    response.end();
  }),
];

/** `100 Continue` again and again, until the other side has enough. */
const goOn: Answer = (_seen, _response, { socket }) => {
  const timer = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(50)), 5);
  socket.on('close', () => clearInterval(timer));
  socket.on('error', () => clearInterval(timer));
};

const HEADS: readonly HostileAnswer[] = [
  { ...answers('100 Continue for ever', TOO_LATE, goOn), lasts: true },
  answers('two lengths', NOT_HTTP, raw('HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 27\r\n\r\n')),
  answers(
    'a length and chunks',
    NOT_HTTP,
    raw(
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ),
  ),
  answers(
    'a second answer after the first: not read',
    { jobs: 0 },
    raw(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 27\r\nconnection: close\r\n\r\n${EMPTY}HTTP/1.1 200 OK\r\n\r\n${LEAK}`,
    ),
  ),
];

/** `/version` is answered like this. */
const versioned = (name: string, expected: Expected, answer: Answer): HostileAnswer => ({
  name,
  expected,
  handler: () => bent(onPath('/api/v1/version'), answer, [])(),
});

const VERSIONS: readonly HostileAnswer[] = [
  versioned('a version that steers a terminal', { code: 'GR-GITEA-13' }, version('\u001b[31m1.27.3\u202e')),
  versioned('a version of 1,000,000 digits', { code: 'GR-GITEA-13' }, version('9'.repeat(1e6))),
  versioned('a version with 3,000,000 dashes', { code: 'GR-GITEA-13' }, version(`1.27.3${'-'.repeat(3e6)}`)),
  versioned('a development build: as the release it leads to', { jobs: 0 }, version('1.28.0+dev-123-gabc')),
];

export const TRANSPORT_ANSWERS: readonly HostileAnswer[] = [
  ...STATUSES,
  ...REDIRECTS,
  ...TYPES,
  ...BODIES,
  ...HEADS,
  ...VERSIONS,
];
