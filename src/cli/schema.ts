import { crdText } from '../runnergroup/crd.ts';
import { jsonSchema } from '../runnergroup/json-schema.ts';
import { type FlagsOf, flagValue } from './flags/flags.ts';
import type { ExitCode, Io } from './io.ts';

/** `gitea-runners schema`: prints the JSON Schema of a RunnerGroup for editors, or with `--crd` the CustomResourceDefinition. */
export function schema(flags: FlagsOf<'schema'>, io: Io): ExitCode {
  io.out(flagValue('crd', flags, io) ? crdText() : `${JSON.stringify(jsonSchema(), null, 2)}\n`);
  return 0;
}
