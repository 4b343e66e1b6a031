import { createServer, request as send } from 'node:http';
import { connect } from 'node:net';
import { type Listening, listen } from './server.ts';

export interface TestProxy extends Listening {
  /** `CONNECT host:port` and `GET http://…`, in order. */
  readonly lines: string[];
  /** `Proxy-Authorization` of each. */
  readonly logins: (string | undefined)[];
}

/** A forward proxy: tunnels CONNECT, forwards absolute-form requests. `refuse` answers everything with that status. */
export async function proxyServer(refuse?: number): Promise<TestProxy> {
  const lines: string[] = [];
  const logins: (string | undefined)[] = [];
  const server = createServer((incoming, response) => {
    lines.push(`${incoming.method} ${incoming.url}`);
    logins.push(incoming.headers['proxy-authorization']);
    if (refuse !== undefined) {
      response.writeHead(refuse).end();
      return;
    }
    const onward = send(incoming.url ?? '', { method: incoming.method, headers: incoming.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
  });
  server.on('connect', (incoming, socket, head) => {
    lines.push(`CONNECT ${incoming.url}`);
    logins.push(incoming.headers['proxy-authorization']);
    if (refuse !== undefined) {
      socket.end(`HTTP/1.1 ${refuse} No\r\n\r\n`);
      return;
    }
    const [host = '', port = ''] = (incoming.url ?? '').split(':');
    const onward = connect(Number(port), host === 'localhost' ? '127.0.0.1' : host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.write(head);
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.destroy());
  });
  return { ...(await listen(server)), lines, logins };
}
