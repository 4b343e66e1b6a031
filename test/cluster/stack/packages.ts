/** Packages that the cluster test needs on this computer. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

/** Programs and their Debian packages; `.ci/run` installs the same ones. */
const NEEDED: Readonly<Record<string, string>> = {
  unshare: 'util-linux',
  nsenter: 'util-linux',
  ip: 'iproute2',
  iptables: 'iptables',
  tini: 'tini',
  gpg: 'gpg',
  'gpg-agent': 'gpg-agent',
  git: 'git',
  etcd: 'etcd-server',
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  dnsmasq: 'dnsmasq-base',
  'redis-server': 'redis-server',
  openssl: 'openssl',
  dockerd: 'docker.io',
  rootlesskit: 'rootlesskit',
  slirp4netns: 'slirp4netns',
  's6-svscan': 's6',
  squid: 'squid',
  'docker-registry': 'docker-registry',
  'pkg-config': 'pkg-config',
};
const FILES: Readonly<Record<string, string>> = {
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  '/bin/bash-static': 'bash-static',
  '/bin/busybox': 'busybox-static',
  '/usr/bin/tini-static': 'tini',
  '/usr/bin/newuidmap': 'uidmap',
  '/usr/include/seccomp.h': 'libseccomp-dev',
  '/usr/bin/curl': 'curl',
  '/etc/ssl/certs/ca-certificates.crt': 'ca-certificates',
};

/** All packages, each once. */
export const PACKAGES: readonly string[] = [...new Set([...Object.values(NEEDED), ...Object.values(FILES)])];

/** @throws with everything that is missing and the packages to install. */
export function needPackages(): void {
  if (process.getuid?.() !== 0) throw new Error('the cluster test needs root: it makes namespaces and runs a kubelet');
  const tools = Object.entries(NEEDED).filter(([tool]) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).error);
  const files = Object.entries(FILES).filter(([file]) => !existsSync(file));
  const missing = [...tools, ...files];
  if (missing.length === 0) return;
  const packages = [...new Set(missing.map(([, name]) => name))].join(' ');
  throw new Error(`the cluster test misses ${missing.map(([what]) => what).join(', ')}: apt-get install ${packages}`);
}
