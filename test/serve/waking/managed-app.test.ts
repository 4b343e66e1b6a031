import { expect, it, vi } from 'vitest';
import type { WakeTarget } from '../../../src/argocd/wake.ts';
import { WakeLine } from '../../../src/serve/waking/line.ts';
import { ManagedApp } from '../../../src/serve/waking/managed-app.ts';

it('ends quietly when its question to Argo CD is ended with it', async () => {
  let end: (reason: Error) => void = () => undefined;
  const asked = new Promise<never>((_, reject) => {
    end = reject;
  });
  const onNews = vi.fn();
  const app = new ManagedApp('argocd/runners', { namespace: 'argocd', name: 'runners' }, [], {
    argocd: { read: () => asked } as Partial<WakeTarget> as WakeTarget,
    line: new WakeLine(4, Date.now),
    now: Date.now,
    tell: () => undefined,
    onNews,
  });
  app.close();
  // As an HTTP client does that is closed while it waits before it tries again. Unhandled, it would fail this run.
  end(new DOMException('This operation was aborted', 'AbortError'));
  await new Promise(setImmediate);

  expect(onNews).not.toHaveBeenCalled();
});
