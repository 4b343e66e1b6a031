/**
 * The cluster's DNS: dnsmasq, and two loops that tell it each Service that comes, changes or goes: one with an address, and the pods of one
 * without (`<name>.<namespace>.svc.cluster.local`). Only for pods: this side of the machine reaches Services by address.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from './machine.ts';

export const DOMAIN = 'cluster.local';

const EVENT = '{.type} {.object.metadata.namespace} {.object.metadata.name} {.object.spec.clusterIP}{"\\n"}';
/** Kubernetes labels the Endpoints of a Service without an address. */
const PODS_EVENT =
  '{.type} {.object.metadata.namespace} {.object.metadata.name} {.object.metadata.labels} {.object.subsets[*].addresses[*].ip}{"\\n"}';

/**
 * Follows objects with kubectl's watch, which starts with the existing ones, and ends with the API server or after an
 * hour. One file for each name.
 */
const FOLLOW = `
while :; do
  "$KUBECTL" get services --all-namespaces --watch --output-watch-events --output "jsonpath=$EVENT" |
  while read -r type namespace name ip; do
    case "$type $ip" in
      DELETED* | *' None' | *' ') rm -f "$HOSTS/$namespace.$name" ;;
      *) echo "$ip $name.$namespace.svc.$DOMAIN" > "$HOSTS/$namespace.$name" ;;
    esac
    kill -HUP "$(cat "$DNSMASQ")"
  done
  sleep 1
done
`;

const FOLLOW_PODS = `
while :; do
  "$KUBECTL" get endpoints --all-namespaces --watch --output-watch-events --output "jsonpath=$EVENT" |
  while read -r type namespace name labels ips; do
    case "$type $labels" in
      DELETED*) rm -f "$HOSTS/$namespace.$name.pods" ;;
      *service.kubernetes.io/headless*)
        for ip in $ips; do echo "$ip $name.$namespace.svc.$DOMAIN"; done > "$HOSTS/$namespace.$name.pods" ;;
      *) continue ;;
    esac
    kill -HUP "$(cat "$DNSMASQ")"
  done
  sleep 1
done
`;

export interface Dns {
  /** Waits until the names of all these Services (`<namespace>.<name>`) are known. */
  readonly knows: (services: readonly string[]) => Promise<void>;
}

/** Starts both on the address of the pods' bridge. @param kubectl path of the program. */
export function startDns(machine: Machine, kubectl: string, kubeconfig: string): Dns {
  const hosts = join(machine.folder, 'kubernetes', 'hosts');
  const pidFile = join(machine.folder, 'pid', 'dnsmasq');
  mkdirSync(hosts);
  machine.start({
    name: 'dnsmasq',
    command: 'dnsmasq',
    args: [
      ...['--keep-in-foreground', '--no-resolv', '--no-hosts', '--user=root', '--pid-file=', '--bind-interfaces'],
      ...[`--listen-address=${machine.pods}.1`, `--local=/${DOMAIN}/`, `--addn-hosts=${hosts}`],
    ],
  });
  const follow = (name: string, script: string, event: string): void =>
    machine.start({
      name,
      command: 'sh',
      args: ['-c', script],
      env: { KUBECTL: kubectl, KUBECONFIG: kubeconfig, EVENT: event, HOSTS: hosts, DOMAIN, DNSMASQ: pidFile },
    });
  follow('dns-follow', FOLLOW, EVENT);
  follow('dns-follow-pods', FOLLOW_PODS, PODS_EVENT);
  return {
    knows: (services) =>
      machine.until('dns-follow', async () => services.every((service) => existsSync(join(hosts, service)))),
  };
}
