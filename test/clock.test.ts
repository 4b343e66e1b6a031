import { expect, it } from 'vitest';
import { pause, systemClock } from '../src/shared/clock.ts';

// Node 20 never warns: this can fail on Node 24 only.
it('a time that is over is waited for without a warning of Node', async () => {
  const warnings: string[] = [];
  const onWarning = ({ name }: Error): number => warnings.push(name);
  process.on('warning', onWarning);
  await pause(systemClock, -5);
  await systemClock.nextTurn();
  process.off('warning', onWarning);
  expect(warnings).toEqual([]);
});
