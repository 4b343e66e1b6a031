/** `gitea-runners schema`: JSON Schemas for editors, or the CRD. */
import { podTemplateSchema } from '../../config/pods/pod-schema.ts';
import { PolicyDocument } from '../../config/policy/policy-schema.ts';
import crd from '../../config/runnergroup/crd.json' with { type: 'json' };
import { crdText, editorSchema, type JsonSchema, jsonSchema } from '../../config/runnergroup/json-schema.ts';
import { Failure } from '../../shared/failure.ts';
import type { ExitCode, Io } from '../../shared/io.ts';
import { type FlagsOf, flagValue } from '../flags/flags.ts';

/** Runs the command. @throws Failure exit 2 for the CRD of a policy, which is a file */
export function schema(flags: FlagsOf<'schema'>, io: Io): ExitCode {
  const isPolicy = flagValue('kind', flags, io) === 'RunnerPolicy';
  const wantsCrd = flagValue('crd', flags, io);
  if (isPolicy && wantsCrd)
    throw new Failure('GR-FLAG-14', 2, 'read --crd: a RunnerPolicy has none, it is a file. Leave --crd or --kind out.');
  io.out(
    wantsCrd
      ? crdText(crd)
      : `${JSON.stringify(isPolicy ? editorSchema('RunnerPolicy', PolicyDocument) : withPodTemplate(jsonSchema()), null, 2)}\n`,
  );
  return 0;
}

/** Puts Kubernetes' own types in the place of "any object". The CRD does without: they would double its size. */
function withPodTemplate(group: JsonSchema): JsonSchema {
  const { template, definitions } = podTemplateSchema();
  const { spec, ...otherProperties } = group.properties ?? {};
  const { sizes, ...fields } = described(spec, template)?.properties ?? {};
  const { items, ...list } = sizes ?? {};
  const withOwn = { ...list, items: described(items as JsonSchema | undefined, template) };
  return {
    ...group,
    properties: { ...otherProperties, spec: { ...spec, properties: { ...fields, sizes: withOwn } } },
    definitions,
  };
}

function described(schema: JsonSchema | undefined, template: unknown): JsonSchema | undefined {
  const { podTemplate, ...fields } = schema?.properties ?? {};
  const typed = { description: podTemplate?.['description'], allOf: [template] };
  return { ...schema, properties: { ...fields, podTemplate: typed } };
}
