import { createServer, request as send } from 'node:http';
import { connect } from 'node:net';
import { type Listening, listen } from './server.ts';

export interface TestProxy extends Listening {
  /** `CONNECT host:port` and `GET http://…`, in order. */
  readonly lines: string[];
  /** `Proxy-Authorization` of each. */
  readonly logins: (string | undefined)[];
}

/**
 * A forward proxy: tunnels CONNECT, forwards absolute-form requests. `refuse` answers everything with that status.
 * `ports`: by `host:port`, the port of loopback where it is in truth. All others get 502 then.
 */
export async function proxyServer(refuse?: number, ports?: Readonly<Record<string, number>>): Promise<TestProxy> {
  const lines: string[] = [];
  const logins: (string | undefined)[] = [];
  const refusalOf = (authority: string) => refuse ?? (ports && ports[authority] === undefined ? 502 : undefined);
  const server = createServer((incoming, response) => {
    lines.push(`${incoming.method} ${incoming.url}`);
    logins.push(incoming.headers['proxy-authorization']);
    const url = new URL(incoming.url ?? '', 'http://nowhere');
    const authority = `${url.hostname}:${url.port || 80}`;
    const refusal = refusalOf(authority);
    if (refusal !== undefined) {
      response.writeHead(refusal).end();
      return;
    }
    if (ports) url.host = `127.0.0.1:${ports[authority]}`;
    const onward = send(url, { method: incoming.method, headers: incoming.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
  });
  server.on('connect', (incoming, socket, head) => {
    const { url: authority = '' } = incoming;
    lines.push(`CONNECT ${authority}`);
    logins.push(incoming.headers['proxy-authorization']);
    const refusal = refusalOf(authority);
    if (refusal !== undefined) {
      socket.end(`HTTP/1.1 ${refusal} No\r\n\r\n`);
      return;
    }
    const [host = '', port = ''] = authority.split(':');
    const isHere = ports !== undefined || host === 'localhost';
    const onward = connect(ports?.[authority] ?? Number(port), isHere ? '127.0.0.1' : host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
  });
  return { ...(await listen(server)), lines, logins };
}
