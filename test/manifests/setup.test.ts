/** Tests `setupCommand`: its script in a real shell, and its container in the pod. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { podTemplate } from '../../src/manifests/app.ts';
import { setupCommand } from '../../src/manifests/init-containers.ts';
import { Container } from './container.ts';
import { group } from './fixtures.ts';

let container: Container;
beforeEach(() => {
  container = new Container();
});
afterEach(() => container.close());

const run = (words: readonly string[], hear?: (said: string, stop: () => void) => void) =>
  container.start(setupCommand(words), { hear });

test('setupCommand hands each word on as it is', async () => {
  const words = ['printf', '[%s]', 'a b', '$HOME', '$(date)', '', "it's", '"', 'ü\n'];

  expect(await run(words)).toEqual({ code: 0, said: '[a b][$HOME][$(date)][][it\'s]["][ü\n]' });
});

test('setupCommand fails as the command fails, and shows what it said', async () => {
  expect(await run(['sh', '-c', 'echo no such tool >&2; exit 7'])).toEqual({ code: 7, said: 'no such tool\n' });
});

test('setupCommand fails when there is no such command', async () => {
  const { code, said } = await run(['no-such-command-here']);

  expect(code).toBe(127);
  expect(said).toContain('no-such-command-here');
});

test('setupCommand ends when its pod is deleted, even if the command does not listen', async () => {
  const stubborn = 'trap "" TERM; echo ready; exec tail -f /dev/null';

  const { code } = await run(['sh', '-c', stubborn], (said, stop) => said.includes('ready') && stop());

  expect(code).toBe(143);
});

describe.each(['dind-rootless', 'dind', 'host'] as const)('the container setup in %s', (mode) => {
  const sidecar = mode === 'dind' ? ['docker'] : [];
  const initContainers = (...words: string[]) =>
    podTemplate(group({ containerMode: mode, setupCommand: words })).spec.template.spec.initContainers ?? [];

  test('runs before the one that registers, and after dockerd has started', () => {
    expect(initContainers('true').map(({ name }) => name)).toEqual([...sidecar, 'setup', 'register']);
    expect(initContainers().map(({ name }) => name)).toEqual([...sidecar, 'register']);
  });

  test('the container setup has no token and no privileges, and the user and the folder that the runner has', () => {
    const [setup, register] = initContainers('true').slice(-2) as unknown as Record<string, unknown>[];

    expect(JSON.stringify(setup)).not.toMatch(/REGISTRATION|secretKeyRef/);
    expect(setup).toMatchObject({
      image: register?.['image'],
      securityContext: register?.['securityContext'],
      terminationMessagePolicy: 'FallbackToLogsOnError',
      volumeMounts: expect.arrayContaining([expect.objectContaining({ mountPath: '/data', name: 'data' })]),
      workingDir: '/data',
    });
  });
});

describe('last lines', () => {
  const speaking = (fields: object) => {
    const { containers, initContainers = [] } = podTemplate(group(fields)).spec.template.spec;
    const all = [...initContainers, ...containers] as readonly { name: string; terminationMessagePolicy?: string }[];
    return all.flatMap(({ name, terminationMessagePolicy: policy }) =>
      policy === 'FallbackToLogsOnError' ? name : [],
    );
  };

  test.each([
    [{ containerMode: 'dind' }, ['docker', 'register', 'runner']],
    [{ containerMode: 'dind-rootless' }, ['register', 'runner']],
    [{ containerMode: 'buildkit' }, ['buildkit', 'register', 'runner']],
    [{ containerMode: 'host', setupCommand: ['true'] }, ['setup', 'register', 'runner']],
  ])('each container of ours has its last lines in the status: %j', (fields, names) => {
    expect(speaking(fields)).toEqual(names);
  });

  test.each([{ keepFailedSeconds: 60 }, { runnerConfig: { log: { level: 'Debug' } } }])(
    'the runner has no last lines in the status with %j, because it prints what CI jobs print',
    (fields) => {
      expect(speaking({ containerMode: 'host', ...fields })).toEqual(['register']);
    },
  );
});
