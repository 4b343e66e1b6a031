/** An API server that never stops to talk: `node talker.mjs FOLDER` with `key` and `cert`. Prints its port; lives until it is killed. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';

const read = (name) => readFileSync(join(process.argv[2], name));
const line = `${JSON.stringify({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '7' } } })}\n`;

const server = createServer({ key: read('key'), cert: read('cert') }, (_, response) => {
  const talking = setInterval(() => {
    for (let nth = 0; nth < 500; nth += 1) response.write(line);
  }, 10);
  response.on('close', () => clearInterval(talking));
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
