/** Certificates of one cluster, made with openssl. They last two days. */
import { DOMAIN } from './dns.ts';
import type { Machine } from './machine.ts';

/** Makes `ca.crt`, `server.crt` and its key for the API server, and the key that signs service account tokens. */
export async function makeCertificates(machine: Machine, folder: string): Promise<void> {
  const names = [
    'localhost',
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    `kubernetes.default.svc.${DOMAIN}`,
  ];
  const addresses = ['127.0.0.1', machine.ip, `${machine.services}.1`];
  const san = [...names.map((name) => `DNS:${name}`), ...addresses.map((ip) => `IP:${ip}`)].join(',');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'];
  const commands = [
    [
      'req',
      '-x509',
      ...key,
      '-days',
      '2',
      '-subj',
      '/CN=test-ca',
      '-keyout',
      `${folder}/ca.key`,
      '-out',
      `${folder}/ca.crt`,
    ],
    [
      'req',
      ...key,
      '-subj',
      '/CN=kube-apiserver',
      '-addext',
      `subjectAltName=${san}`,
      '-keyout',
      `${folder}/server.key`,
      '-out',
      `${folder}/server.csr`,
    ],
    [
      'x509',
      '-req',
      '-days',
      '2',
      '-copy_extensions',
      'copyall',
      '-in',
      `${folder}/server.csr`,
      '-CA',
      `${folder}/ca.crt`,
      '-CAkey',
      `${folder}/ca.key`,
      '-CAcreateserial',
      '-out',
      `${folder}/server.crt`,
    ],
    ['genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-out', `${folder}/accounts.key`],
  ];
  for (const command of commands) await machine.run('openssl', command);
}
