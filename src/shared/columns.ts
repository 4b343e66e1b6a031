import type { Io } from './io.ts';

/** `COLUMNS` of the environment, from 20 to 1000. Undefined: it says nothing. */
export function columnsFrom(env: Io['env']): number | undefined {
  const text = env['COLUMNS'] ?? '';
  const columns = /^[0-9]{1,4}$/.test(text) ? Number(text) : 0;
  return columns >= 20 && columns <= 1000 ? columns : undefined;
}
