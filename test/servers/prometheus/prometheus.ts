/** Debian's Prometheus and promtool. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import * as z from 'zod';
import { freePort, type Playground, statusOf, waitUntil } from '../process.ts';

/** `spec` of install/monitoring/prometheusrule.yaml: a rule file of Prometheus. */
export const RuleFile = z.object({
  groups: z.array(
    z.object({
      name: z.string(),
      rules: z.array(z.looseObject({ alert: z.string(), expr: z.string(), for: z.string() })),
    }),
  ),
});
export type RuleFile = z.output<typeof RuleFile>;

/** The rules as they are installed. */
export function rulesOf(text: string): RuleFile {
  const [document] = parseAllDocuments(text);
  return z.object({ spec: RuleFile }).parse(document?.toJS()).spec;
}

/** Runs promtool, and answers what it prints. @throws when it finds a fault. */
export function promtool(...args: readonly string[]): string {
  return execFileSync('promtool', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

export interface Prometheus {
  /** Names of the alerts that fire now. */
  readonly firing: () => Promise<readonly string[]>;
  /** Values of an expression. */
  readonly query: (expression: string) => Promise<readonly number[]>;
}

const Alerts = z.object({
  data: z.object({
    alerts: z.array(z.object({ state: z.string(), labels: z.looseObject({ alertname: z.string() }) })),
  }),
});
const Result = z.object({
  data: z.object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) }),
});

/** Starts one that scrapes `target` and judges the rules each second. It ends with the playground. */
export async function startPrometheus(playground: Playground, target: string, rules: RuleFile): Promise<Prometheus> {
  const port = await freePort();
  const folder = playground.makeFolder(`prometheus-${port}`);
  const settings = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: [{ job_name: 'gitea-runners', honor_labels: true, static_configs: [{ targets: [target] }] }],
  };
  writeFileSync(join(folder, 'rules.yaml'), stringify(rules));
  writeFileSync(join(folder, 'prometheus.yml'), stringify(settings));
  const listen = `127.0.0.1:${port}`;
  const running = playground.start({
    command: 'prometheus',
    args: [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${listen}`,
    ],
    cwd: folder,
    env: {},
    logFile: join(folder, 'log'),
  });
  const ask = async (path: string): Promise<unknown> => (await fetch(`http://${listen}${path}`)).json();
  const isReady = async () => (await statusOf(`http://${listen}/-/ready`)) === 200;
  await waitUntil('prometheus is ready', isReady, { running });
  return {
    firing: async () => {
      const { alerts } = Alerts.parse(await ask('/api/v1/alerts')).data;
      return alerts.flatMap(({ state, labels }) => (state === 'firing' ? labels.alertname : [])).sort();
    },
    query: async (expression) => {
      const { result } = Result.parse(await ask(`/api/v1/query?query=${encodeURIComponent(expression)}`)).data;
      return result.map(({ value: [, text] }) => Number(text));
    },
  };
}
