/** `gitea-runners doctor`: judges an installation, and says how to repair each fault. It changes nothing. */
import { type ExitCode, type Io, type Paper, painted, paperOf } from '../../shared/io.ts';
import { jsonText, printable } from '../../shared/printable.ts';
import { splitIntoLines, wrapped } from '../../shared/table.ts';
import { onlyBefore } from '../doctor/before.ts';
import { findingsOf } from '../doctor/checks.ts';
import { readInstallation } from '../doctor/installation.ts';
import { type FlagsOf, flagValue, isJson } from '../flags/flags.ts';
import { askCluster, clusterSource } from '../reading/cluster-source.ts';
import type { DoctorFinding } from '../reading/finding.ts';
import { noCluster } from '../reading/own-kubeconfig.ts';
import { askOwnRight, EVERYTHING } from '../reading/own-rights.ts';
import type { ClusterReader } from '../reading/read-object.ts';

/** Runs the command. @returns 1 if something is bad, or nothing could be looked at @throws Failure if there is no cluster, or it does not answer */
export async function doctor(flags: FlagsOf<'doctor'>, io: Io): Promise<ExitCode> {
  const asJson = isJson('doctor', flags, io);
  const source = await clusterSource(flags, io);
  if (!source) throw noCluster('GR-DOCTOR-01', 'look at an installation');
  const argocdNamespace = flagValue('argocdNamespace', flags, io);
  const isBefore = flagValue('pre', flags, io) ?? false;
  const { findings, note } = await askCluster(source, argocdNamespace, async (reader) => {
    const installation = await readInstallation(source, reader);
    const installFindings = isBefore ? await onlyBefore(installation, reader, source.settings) : [];
    const findings = [...findingsOf(installation, isBefore), ...installFindings];
    return { findings, note: await whoMay(findings, reader) };
  });
  // The first is the version of Kubernetes, which everybody may read.
  const isBlind = findings.slice(1).every(({ is }) => is === 'unknown');
  io.out(asJson ? jsonText({ findings }) : text(findings, paperOf(io)) + (isBlind ? BLIND : note));
  return isBlind || findings.some(({ is }) => is === 'bad') ? 1 : 0;
}

/** Names things that could not be looked at for the same reason in one line: a list of them hides the reason. */
function joined(findings: readonly DoctorFinding[]): readonly DoctorFinding[] {
  return findings.flatMap((each) => {
    const alike = findings.filter(({ is, text }) => is === 'unknown' && is === each.is && text === each.text);
    if (alike.length < 3) return [each];
    return alike[0] === each ? [{ ...each, fix: undefined, check: alike.map(({ check }) => check).join(', ') }] : [];
  });
}

/** Returns whom to ask for the commands, if you may not run all of them. */
async function whoMay(findings: readonly DoctorFinding[], reader: ClusterReader): Promise<string> {
  const changes = findings.some(({ fix = '' }) => /kubectl .*\b(?:apply|create|edit|label|patch|scale)\b/.test(fix));
  const may = changes && (await askOwnRight(reader, EVERYTHING));
  const isKnown = may && 'value' in may && !may.value;
  return isKnown ? 'You are no administrator of this cluster: ask one to run the commands that change it.\n' : '';
}

const BLIND = 'Nothing here could be looked at. Ask for rights to read it, or let an administrator run this.\n';
const SIGNS = { good: ['✓', 'green'], bad: ['✗', 'red'], unknown: ['?', 'yellow'] } as const;

function text(findings: readonly DoctorFinding[], paper: Paper): string {
  const lines = joined(findings).flatMap(({ check, is, text: seen, fix }) => {
    const [sign, colour] = SIGNS[is];
    const line = `${painted(colour, sign, paper)} ${wrapped(printable(`${check}: ${seen}`), paper.columns)}\n`;
    const width = (paper.columns ?? Number.POSITIVE_INFINITY) - 4;
    return fix === undefined ? [line] : [line, `    ${splitIntoLines(printable(fix), width).join('\n    ')}\n`];
  });
  const count = (verdict: DoctorFinding['is']): number => findings.filter((each) => each.is === verdict).length;
  return `${lines.join('')}\n${count('good')} good, ${count('bad')} bad, ${count('unknown')} not known\n`;
}
