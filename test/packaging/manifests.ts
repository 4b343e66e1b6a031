/** Reads the committed manifests for the tests of this folder. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';

export const KubeObject = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});
export type KubeObject = z.output<typeof KubeObject>;

const Mount = z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() });
const OwnContainer = z.looseObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()),
  volumeMounts: z.array(Mount),
  securityContext: z.unknown(),
  resources: z.looseObject({ limits: z.record(z.string(), z.string()), requests: z.record(z.string(), z.string()) }),
});
export type OwnContainer = z.output<typeof OwnContainer>;
const Named = z.looseObject({ name: z.string() });

function deployment<Container extends z.ZodType>(container: Container) {
  const pod = z.looseObject({ containers: z.array(container), volumes: z.array(Named) });
  return z.looseObject({
    kind: z.literal('Deployment'),
    metadata: Named,
    spec: z.looseObject({ template: z.looseObject({ spec: pod }) }),
  });
}

/** Schema of any Deployment with volumes, as far as the tests read it. */
export const Deployment = deployment(Named);
/** Schema of a Deployment whose containers are all ours. */
const OwnDeployment = deployment(OwnContainer);

/** Every file below install/ of a folder, by its path there. */
export function installFileNames(folder = '.'): readonly string[] {
  return readdirSync(join(folder, 'install'), { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(join(folder, 'install'), join(entry.parentPath, entry.name)))
    .sort();
}

export function installText(file: string): string {
  return readFileSync(join('install', file), 'utf8');
}

const read = new Map<string, readonly unknown[]>();

/** Returns the documents of a file as data, read once. Throws on anything that is not YAML. */
export function documents(file: string): readonly unknown[] {
  const known =
    read.get(file) ??
    parseAllDocuments(installText(file)).map((document) => {
      const [problem] = document.errors;
      if (problem) throw new Error(`${file}: ${problem.message}`);
      return document.toJS() as unknown;
    });
  read.set(file, known);
  return known;
}

/** The documents of a file as Kubernetes objects. */
export function objects(file: string): readonly KubeObject[] {
  return documents(file).map((document) => KubeObject.parse(document));
}

/** The one object of this kind and name in install.yaml. */
export function installed(kind: string, name: string): KubeObject {
  const found = objects('install.yaml').filter((object) => object.kind === kind && object.metadata.name === name);
  const [object] = found;
  if (object === undefined || found.length > 1) throw new Error(`install.yaml has ${found.length} of ${kind} ${name}`);
  return object;
}

/** The pod of a Deployment in install.yaml: of Argo CD's one the part that is ours. */
export function podOf(name: string): z.output<typeof OwnDeployment>['spec']['template']['spec'] {
  return OwnDeployment.parse(installed('Deployment', name)).spec.template.spec;
}
