/**
 * The cluster's DNS: dnsmasq, and a loop that tells it each Service that comes, changes or goes. Names of Services with an address
 * only (`<name>.<namespace>.svc.cluster.local`), and only for pods: this side of the machine reaches Services by address.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from './machine.ts';

export const DOMAIN = 'cluster.local';

const EVENT = '{.type} {.object.metadata.namespace} {.object.metadata.name} {.object.spec.clusterIP}{"\\n"}';

/** kubectl's watch starts with what exists; it ends with the API server or after an hour. One file for each name. */
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
  machine.start({
    name: 'dns-follow',
    command: 'sh',
    args: ['-c', FOLLOW],
    env: { KUBECTL: kubectl, KUBECONFIG: kubeconfig, EVENT, HOSTS: hosts, DOMAIN, DNSMASQ: pidFile },
  });
  return {
    knows: (services) =>
      machine.until('dns-follow', async () => services.every((service) => existsSync(join(hosts, service)))),
  };
}
