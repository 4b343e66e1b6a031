import packageJson from '../../package.json' with { type: 'json' };
import type { ExitCode, Io } from '../shared/io.ts';
import { jsonText } from '../shared/printable.ts';
import { type FlagsOf, isJson } from './flags/flags.ts';

/** `gitea-runners version`: what a report of a mistake needs. */
export function version(flags: FlagsOf<'version'>, io: Io): ExitCode {
  const { version: own } = packageJson;
  const [node, platform] = [process.version, `${process.platform}/${process.arch}`];
  io.out(
    isJson('version', flags, io)
      ? jsonText({ version: own, node, platform })
      : `gitea-runners ${own} (Node ${node}, ${platform})\n`,
  );
  return 0;
}
