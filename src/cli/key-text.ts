import type { GroupKey } from '../plan/decisions.ts';

/** `runners/ci` */
export function keyText({ namespace, name }: GroupKey): string {
  return `${namespace}/${name}`;
}
