import { crdText } from '../runnergroup/crd.ts';
import { jsonSchema } from '../runnergroup/json-schema.ts';
import type { ExitCode, Io } from './io.ts';

/** `gitea-runners schema`: the JSON Schema of a RunnerGroup for editors; `crd`: the CustomResourceDefinition. */
export function schema(io: Io, options: { readonly crd: boolean }): ExitCode {
  io.out(options.crd ? crdText() : `${JSON.stringify(jsonSchema(), null, 2)}\n`);
  return 0;
}
