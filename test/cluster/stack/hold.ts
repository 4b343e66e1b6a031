/**
 * A process that starts a stack and holds it until it is killed: `hold.ts '<ClusterBuilds as JSON>'` prints a line of JSON with the
 * stack's folder and address.
 */
import { startStack } from './stack.ts';

async function main(): Promise<void> {
  const builds = JSON.parse(process.argv[2] ?? '');
  const { machine } = await startStack(builds, () => {});
  process.stdout.write(`${JSON.stringify({ folder: machine.folder, outside: machine.outside })}\n`);
  setInterval(() => {}, 60_000);
}

main().catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
});
