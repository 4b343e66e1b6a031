/** Real Kyverno in a cluster of a test: its admission controller, with its own manifests. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { writeImage } from '../../scripts/oci-image.mjs';
import { buildKyverno } from '../servers/build.ts';
import { USERS } from './stack/images.ts';
import type { Stack } from './stack/stack.ts';

const KYVERNO_NAMESPACE = 'kyverno';

const CONTROLLER = 'kyverno-admission-controller';
const IMAGE = 'local/kyverno:1.19.1';

/** Starts the admission controller alone. The other controllers report, clean up and change what lives. */
export async function startKyverno({ kubernetes, images }: Pick<Stack, 'kubernetes' | 'images'>): Promise<void> {
  const build = buildKyverno(tell);
  const tar = join(images, 'kyverno.tar');
  const files = [...USERS, { path: '/kyverno', source: join(build, 'kyverno'), mode: 0o755 }];
  await writeImage({ out: tar, name: IMAGE, layers: [{ files }], config: { Entrypoint: ['/kyverno'] } });
  await kubernetes.importImage(tar);
  // Six MB of text. Only the Deployments are parsed.
  const texts = readFileSync(join(build, 'config', 'install-latest-testing.yaml'), 'utf8').split('\n---\n');
  const wanted = texts.flatMap((text) => (/^kind: Deployment$/m.test(text) ? controllerIn(text) : [text]));
  await kubernetes.kubectl(['apply', '--server-side', '-f', '-'], wanted.join('\n---\n'));
  await isUp({ kubernetes });
}

/** The Deployment of the admission controller with an image that is here. None of another controller. */
function controllerIn(text: string): readonly string[] {
  const object = parse(text);
  if (object.metadata.name !== CONTROLLER) return [];
  const { spec } = object.spec.template;
  // It removes what an older Kyverno left.
  delete spec.initContainers;
  Object.assign(spec.containers[0], { image: IMAGE });
  return [JSON.stringify(object)];
}

/** Waits until the admission controller is ready. */
export async function isUp({ kubernetes }: Pick<Stack, 'kubernetes'>): Promise<void> {
  await kubernetes.rolledOut(KYVERNO_NAMESPACE, `deployment/${CONTROLLER}`);
}

/** Ends the admission controller without warning, as a node that dies does. Its webhooks stay. */
export async function killKyverno({ kubernetes }: Pick<Stack, 'kubernetes'>): Promise<void> {
  const pods = ['pods', '-n', KYVERNO_NAMESPACE, '-l', 'app.kubernetes.io/component=admission-controller'];
  await kubernetes.kubectl(['delete', ...pods, '--grace-period=0', '--force']);
}

/** A ClusterPolicy of Pod Security as Kyverno's own chart writes it, but one that refuses. @param helm folder with `helm` */
export function podSecurityPolicy(helm: string, name: string): string {
  const chart = join(buildKyverno(tell), 'charts', 'kyverno-policies');
  const set = ['--set', 'validationFailureAction=Enforce,policyType=ClusterPolicy'];
  const file = `templates/baseline/${name}.yaml`;
  return execFileSync(join(helm, 'helm'), ['template', 'x', chart, ...set, '--show-only', file], { encoding: 'utf8' });
}

function tell(line: string): void {
  process.stdout.write(`servers: ${line}\n`);
}
