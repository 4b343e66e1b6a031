import { expect, test } from 'vitest';
import { runnerGroupFromObject } from '../../../src/config/runnergroup/from-object.ts';
import type { RunnerGroup } from '../../../src/config/runnergroup/runner-group.ts';
import { type InstallationPods, withImages } from '../../../src/config/runnergroup/to-runner-group.ts';
import { groupOf } from '../../support/group-files.ts';

const IMAGES: InstallationPods = {
  runner: 'reg/runner:1',
  rootless: 'reg/rootless:2',
  docker: 'reg/docker:3',
  buildkit: 'reg/buildkit:4',
};

/** Returns the group as `serve` reads it from the cluster. */
function fromCluster({ namespace, name, manifest }: RunnerGroup): RunnerGroup {
  const read = runnerGroupFromObject({ namespace, name, spec: manifest['spec'] });
  if ('problem' in read) throw new Error(read.problem);
  return read.group;
}

test.each([
  [{ containerMode: 'dind' }, { image: 'reg/runner:1', dockerImage: 'reg/docker:3' }],
  [{ containerMode: 'dind-rootless' }, { image: 'reg/rootless:2' }],
  [
    { containerMode: 'buildkit', labels: ['a:host'] },
    { image: 'reg/rootless:2', buildkitImage: 'reg/buildkit:4' },
  ],
  [{ containerMode: 'host', labels: ['a:host'] }, { image: 'reg/runner:1' }],
  [
    { containerMode: 'dind', image: 'own:7' },
    { image: 'own:7', dockerImage: 'reg/docker:3' },
  ],
  [
    { containerMode: 'dind-rootless', image: 'gitea/runner:1.0.8-dind-rootless' },
    { image: 'gitea/runner:1.0.8-dind-rootless' },
  ],
])('the installation names the images of %j, in the generator and in serve', async (spec, expected) => {
  const written = await groupOf(spec);

  for (const group of [written, fromCluster(written)]) {
    const { image, dockerImage, buildkitImage } = withImages(group, IMAGES);
    expect({
      image,
      ...(dockerImage !== undefined && { dockerImage }),
      ...(buildkitImage !== undefined && { buildkitImage }),
    }).toEqual(expected);
  }
});

test('an image in the podTemplate is the group’s own, too', async () => {
  const podTemplate = { spec: { containers: [{ name: 'runner', image: 'own:8' }] } };

  expect(withImages(await groupOf({ podTemplate }), IMAGES).image).toBe('own:8');
});

test('a group that it changes nothing of stays the same object', async () => {
  const group = await groupOf({ image: 'own:7' });

  expect(withImages(group, IMAGES)).toBe(group);
  expect(withImages(group, {})).toBe(group);
});
