import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestCertificates {
  /** PEM of the CA. */
  readonly ca: string;
  /** A server certificate for `localhost` and 127.0.0.1, signed by the CA. */
  readonly key: string;
  readonly cert: string;
}

const made = new Map<string, TestCertificates>();

/**
 * Makes a CA and a server certificate, valid for a day. `name` is the host name in it. Made once for each name: openssl
 * is slow.
 */
export function makeCertificates(name = 'localhost'): TestCertificates {
  const certificates = made.get(name) ?? runOpenssl(name);
  made.set(name, certificates);
  return certificates;
}

function runOpenssl(name: string): TestCertificates {
  const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
  const run = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  try {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
    run('req', '-x509', ...key, '-keyout', 'ca.key', '-out', 'ca.pem', '-subj', '/CN=test CA');
    run('req', ...key.slice(0, -2), '-keyout', 'server.key', '-out', 'server.csr', '-subj', `/CN=${name}`);
    writeFileSync(join(folder, 'extensions'), `subjectAltName=DNS:${name},IP:127.0.0.1\n`);
    const sign = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '1', '-extfile', 'extensions'];
    run('x509', '-req', '-in', 'server.csr', ...sign, '-out', 'server.pem');
    const read = (file: string) => readFileSync(join(folder, file), 'utf8');
    return { ca: read('ca.pem'), key: read('server.key'), cert: read('server.pem') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
