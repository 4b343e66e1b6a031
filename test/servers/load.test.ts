/**
 * A morning of CI on a real Gitea with real runners, in small: what `generate` prints is all that starts and stops runners.
 * One minute per version.
 */
import { describe, expect, it } from 'vitest';
import { GITEA_VERSIONS } from './build.ts';
import { type LoadResult, PLAN, runLoad } from './load.ts';
import { useSite } from './site.ts';

/** The watcher sees the end of a job this much too late at most. */
const WATCH_BLUR_MS = 1000;

describe.each(GITEA_VERSIONS)('Gitea %s', (version) => {
  let result: LoadResult;

  useSite('load', { version, ...PLAN }, async (site) => {
    result = await runLoad(site);
  });

  it('knows every job that was dispatched, and all of them have ended', () => {
    expect(result.jobs.map(({ status }) => status)).toEqual(result.jobs.map(() => 'completed'));
    expect(result.jobs.length).toBe(result.expectedJobs);
  });

  it('ends every CI job with success but the two that were cancelled by a newer run', () => {
    const others = result.jobs.filter(({ conclusion }) => conclusion !== 'success');

    expect(others.map(({ name, conclusion }) => `${name} ${conclusion}`).sort()).toEqual([
      'replace cancelled',
      'replace-early cancelled',
    ]);
  });

  it('starts no runner for a job that still waits for another', () => {
    const long = result.jobs.find(({ name }) => name === 'long');
    const after = result.jobs.find(({ name }) => name === 'after-long');
    const longEndedAtMs = Date.parse(long?.completed_at ?? '');
    const early = result.runners.filter(({ jobId, createdAtMs }) => jobId === after?.id && createdAtMs < longEndedAtMs);

    expect(after?.conclusion).toBe('success');
    expect(early).toEqual([]);
  });

  it('stops no runner that was at work before the look at Gitea began', () => {
    const stopped = result.runners.filter(({ name, prunedAfterLookAtMs: lookedAtMs }) =>
      result.stays.some(
        ({ runner, startedAtMs, endedAtMs }) =>
          runner === name &&
          lookedAtMs !== undefined &&
          (startedAtMs ?? Infinity) < lookedAtMs &&
          lookedAtMs < (endedAtMs ?? Infinity) - WATCH_BLUR_MS,
      ),
    );

    expect(stopped).toEqual([]);
  });

  it('lets the runner of a cancelled job come to its own end, also when it is stopped meanwhile', () => {
    const cancelled = result.jobs.find(({ name, conclusion }) => name === 'replace' && conclusion === 'cancelled');
    const runner = result.runners.find(({ name }) => name === cancelled?.runner_name);

    // With Gitea alone nothing pins it, so its Job is pruned as soon as Gitea calls the job cancelled (docs/adr/0020).
    expect(runner).toMatchObject({ exit: 0 });
  });

  it('takes back the runner of a job that is gone, and starts no other for it', () => {
    const slow = result.runners.filter(({ group }) => group === 'slow');

    expect(slow.map(({ prunedAfterLookAtMs }) => typeof prunedAfterLookAtMs)).toEqual(['number']);
  });

  it('never emits more Jobs than the cap, nor are there more runner processes', () => {
    const over = result.passes
      .flatMap(({ groups }) => groups)
      .filter(({ cap, emitted, pinned, active }) => emitted > Math.max(cap, pinned.length) || active > cap);

    expect(over).toEqual([]);
  });

  it('prints manifests and exit code 0 in every pass, and nothing at the end', () => {
    const failed = result.passes.filter(({ generated }) => generated.code !== 0);

    expect(failed.map(({ generated }) => generated.stderr)).toEqual([]);
    expect(result.passes.at(-1)?.generated.stdout).toBe('');
  });

  it('leaves no runner process behind', () => {
    expect(result.runners.filter(({ endedAtMs }) => endedAtMs === undefined)).toEqual([]);
  });
});
