/** Judges an installation. Pure. In the order in which it is made. */
import packageJson from '../../../package.json' with { type: 'json' };
import { specFieldsOf } from '../../config/runnergroup/crd.ts';
import { account, applications, rights } from './argocd.ts';
import { access, leader, networkPolicy, serve, serveSecret, service, sidecar } from './control-plane.ts';
import { deadRows } from './dead-rows.ts';
import { bad, type DoctorFinding, good, unknown, unread } from './finding.ts';
import * as fixes from './fixes.ts';
import { groups } from './groups.ts';
import type { Installation } from './installation.ts';

/** Native sidecars (containerMode dind) are on since this one. */
const OLDEST_MINOR = 29;

export function findingsOf(seen: Installation): readonly DoctorFinding[] {
  return [
    kubernetes(seen),
    crd(seen),
    sidecar(seen),
    serve(seen),
    leader(seen),
    serveSecret(seen),
    service(seen),
    networkPolicy(seen),
    ...access(seen),
    account(seen),
    ...rights(seen),
    ...applications(seen),
    ...groups(seen),
    ...deadRows(seen),
  ];
}

function kubernetes({ version }: Installation): DoctorFinding {
  if ('unread' in version) return unknown('Kubernetes', version.unread);
  const { major, minor } = version.value;
  const text = `${major}.${minor}`;
  const isOld = Number.parseInt(major, 10) === 1 && Number.parseInt(minor, 10) < OLDEST_MINOR;
  return isOld
    ? unknown(
        'Kubernetes',
        `${text}: containerMode dind needs 1.${OLDEST_MINOR}`,
        'Upgrade, or use dind-rootless or host',
      )
    : good('Kubernetes', text);
}

function crd({ crd: read }: Installation): DoctorFinding {
  const check = 'CustomResourceDefinition';
  if ('unread' in read) return unread(check, read, fixes.NEW_CRD);
  const there = new Set(read.value.spec.versions.flatMap(({ schema }) => specFieldsOf(schema)));
  const lacking = specFieldsOf().filter((field) => !there.has(field));
  return lacking.length === 0
    ? good(check, `has the fields of ${packageJson.version}`)
    : bad(check, `is older than this program: it lacks ${lacking.join(', ')}`, fixes.NEW_CRD);
}
