/** What the runner's own configuration goes with. */
import { RUNNER_RELEASE } from './defaults.ts';
import { type Draft, ok, type Ruled, wrong } from './rule.ts';
import { newerKeys } from './runner-config.ts';
import type { NormalFields } from './runner-group.ts';
import { imageInTemplate } from './template-image.ts';

/** Levels of the runner's log at which it says how its CI job ended. */
const SHOWS_THE_END: readonly string[] = ['debug', 'trace'];

/** Keys of the runner's configuration that the mode or another field makes useless. */
export function ruleRunnerConfig({ spec, unclear }: Draft): Ruled<NormalFields['runnerConfig']> {
  const { containerMode, cache, runnerConfig = {}, proxy, caBundle, keepFailedSeconds = 0 } = spec;
  if (keepFailedSeconds > 0 && !SHOWS_THE_END.includes(runnerConfig.log?.level ?? 'debug')) {
    return wrong(
      ['runnerConfig', 'log', 'level'],
      'does not go with keepFailedSeconds, for which it is debug: remove one of them',
    );
  }
  const [newer] = hasOwnImage(spec) || unclear('image') ? [] : newerKeys(runnerConfig);
  if (newer) {
    return wrong(
      ['runnerConfig', ...newer.path],
      `came with runner ${newer.since}, and the default runner ${RUNNER_RELEASE} ignores it: set image to a runner of ${newer.since} or newer`,
    );
  }
  if (runnerConfig.runner?.env_file !== undefined && (proxy !== undefined || caBundle !== undefined)) {
    return wrong(
      ['runnerConfig', 'runner', 'env_file'],
      'does not go with spec.proxy and spec.caBundle, which need a file of their own there: use runner.envs',
    );
  }
  if (runnerConfig.container && containerMode === 'host') {
    return wrong(['runnerConfig', 'container'], 'does not go with containerMode host, which starts no containers');
  }
  if (cache && runnerConfig.cache?.enabled === false) {
    return wrong(['runnerConfig', 'cache', 'enabled'], 'is false, but spec.cache names a cache: remove one of them');
  }
  return ok(runnerConfig);
}

/** A group with the default image has the runner `RUNNER_RELEASE`. */
export function hasOwnImage(spec: Draft['spec']): boolean {
  return spec.image !== undefined || imageInTemplate(spec.podTemplate) !== undefined;
}
