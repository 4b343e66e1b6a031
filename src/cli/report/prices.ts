/** Prices of a file: what an hour of a runner, a CPU and a GiB of memory costs. */
import { readFile } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import * as z from 'zod';
import type { Price } from '../../observe/usage.ts';
import type { GroupKey } from '../../planner/decisions.ts';
import { Failure, systemCode } from '../../shared/failure.ts';
import { keyText } from '../../shared/keys.ts';
import { printable } from '../../shared/printable.ts';

const amount = z.number().min(0).max(1_000_000).default(0);
const price = { runnerHour: amount, cpuHour: amount, memoryGibHour: amount };
const PriceFile = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be three capitals, e.g. EUR'),
  ...price,
  /** By `NAMESPACE/NAME` or `NAMESPACE/NAME/SIZE`: they take the place of the others. */
  groups: z.record(z.string().max(500), z.strictObject(price)).default({}),
});

export interface Prices {
  readonly currency: string;
  readonly priceOf: (group: GroupKey, size: string | undefined) => Price;
}

const LONGEST_FILE = 262_144;

/** @throws Failure exit 2 */
export async function readPrices(file: string): Promise<Prices> {
  const wrong = (what: string): Failure =>
    new Failure('GR-REPORT-01', 2, `read --prices ${file}: ${what}. "Prices" in docs/report.md shows such a file.`);
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw wrong(`it cannot be read: ${systemCode(error)}`);
  });
  if (text.length > LONGEST_FILE) throw wrong(`it has more than ${LONGEST_FILE} characters`);
  const document = parseDocument(text);
  if (document.errors.length > 0) throw wrong('it is no YAML');
  const { data, error } = PriceFile.safeParse(document.toJS({ maxAliasCount: 10 }));
  if (!data) {
    const [issue] = error.issues;
    throw wrong(`${printable(issue?.path.join('.') || 'the file')}: ${printable(issue?.message ?? 'is wrong')}`);
  }
  const { currency, groups, ...all } = data;
  const own = new Map(Object.entries(groups));
  const priceOf: Prices['priceOf'] = (group, size) =>
    (size === undefined ? undefined : own.get(`${keyText(group)}/${size}`)) ?? own.get(keyText(group)) ?? all;
  return { currency, priceOf };
}
