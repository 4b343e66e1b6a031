/** Makes the certificates of one cluster with openssl. They last two days. */
import { DOMAIN } from './dns.ts';
import type { Machine } from './machine.ts';

/** Makes `ca.crt`, `server.crt` and its key for the API server, and the key that signs service account tokens. */
export async function makeCertificates(machine: Machine, folder: string): Promise<void> {
  const service = 'kubernetes.default.svc';
  const names = ['localhost', 'kubernetes', 'kubernetes.default', service, `${service}.${DOMAIN}`];
  const addresses = ['127.0.0.1', machine.ip, `${machine.services}.1`];
  const san = [...names.map((name) => `DNS:${name}`), ...addresses.map((ip) => `IP:${ip}`)].join(',');
  const key = '-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc';
  const commands = `
    cd ${folder}
    openssl req -x509 ${key} -days 2 -subj /CN=test-ca -keyout ca.key -out ca.crt
    openssl req ${key} -subj /CN=kube-apiserver -addext subjectAltName=${san} -keyout server.key -out server.csr
    openssl x509 -req -days 2 -copy_extensions copyall -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -out server.crt
    openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out accounts.key
  `;
  await machine.run('sh', ['-ec', commands]);
}
