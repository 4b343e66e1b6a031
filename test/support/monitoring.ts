/** Queries of `install/monitoring/` to Prometheus. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import * as z from 'zod';

const Rule = z.object({ alert: z.string(), expr: z.string(), annotations: z.object({ description: z.string() }) });
const Alerts = z.object({ spec: z.object({ groups: z.tuple([z.object({ rules: z.array(Rule) })]) }) });
const Dashboard = z.object({ panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })) })) });

const read = (file: string) => readFileSync(`install/monitoring/${file}`, 'utf8');

export const ALERTS = Alerts.parse(parse(read('prometheusrule.yaml'))).spec.groups[0].rules;

/** Every expression. */
export const DASHBOARD_QUERIES: readonly string[] = Dashboard.parse(JSON.parse(read('dashboard.json'))).panels.flatMap(
  ({ targets }) => targets.map(({ expr }) => expr),
);
