/** Credentials that stand in a RunnerGroup, and so in git: known by their form, or by the name of their field. Pure. */
import type { Path } from '../../config/runnergroup/documents.ts';
import { TOKEN } from '../../config/runnergroup/field-problem.ts';
import { isMapping, valueAt } from '../../config/runnergroup/paths.ts';
import type { RunnerGroup } from '../../config/runnergroup/runner-group.ts';
import type { Odd } from './odd.ts';

/** Returns warnings about strings that hold a credential, in any field. They repeat nothing of it. */
export function oddSecrets({ manifest }: RunnerGroup): readonly Odd[] {
  return secretsIn(manifest, [], '');
}

/** @param name of the variable, or of the nearest field that is no `value` */
function secretsIn(value: unknown, path: Path, name: string): readonly Odd[] {
  if (typeof value === 'string') return holdsSecret(value, path, name) ? [[path, adviceAt(path, value)]] : [];
  if (typeof value !== 'object' || value === null) return [];
  const variable = isMapping(value) && typeof value['value'] === 'string' ? valueAt(value, ['name']) : undefined;
  return Object.entries(value).flatMap(([key, inner]) => {
    const step = Array.isArray(value) ? Number(key) : key;
    const isNamed = key === 'value' && typeof variable === 'string';
    const ownName = isNamed ? variable : key;
    return secretsIn(inner, [...path, step], typeof step === 'number' ? name : ownName);
  });
}

/** Values whose form says that they are credentials. A reference to a variable of a shell or of Kubernetes is none. */
const CREDENTIALS: readonly RegExp[] = [
  // Tokens with a prefix of their maker, access keys of clouds, and JSON web tokens.
  /\b(?:gh[opsur]_\w{20,}|github_pat_\w{20,}|gl(?:pat|rt|dt|ft|cbt|ptt)-[\w-]{16,}|npm_\w{30,}|xox[abeprs]-[\w-]{10,}|dckr_pat_[\w-]{20,}|pypi-[\w-]{30,}|hvs\.[\w-]{20,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.)/,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----/,
  /"auth"\s*:\s*"[\w+/=]{8,}"/,
  /\bauthorization:\s*(?:basic|bearer|token)\s+[\w.~+/=-]{16,}/i,
  // Incoming webhooks: who has the address may write.
  /https:\/\/(?:hooks\.slack\.com|chat\.googleapis\.com|api\.telegram\.org\/bot\d)\/?\S{20,}/,
  /https?:\/\/[^\s?#]*hook[^\s?#]*\/(?=[^/\s?#]*\d)(?=[^/\s?#]*[A-Za-z])[\w-]{20,}/i,
  /https?:\/\/\S*[?&](?:access_?token|api_?key|key|password|secret|sig|token)=(?=[^&\s]*\d)[^&\s${}]{8,}/i,
];
/** The password in a URL. */
const LOGIN = /\w:\/\/[^\s/:@]+:([^\s/@]+)@/;

const SECRET_NAME = /(?:TOKEN|PASSWORD|PASSWD|PASSPHRASE|SECRET|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY)$/i;
/** A plain word, or a word of tests: the password of a database that lives as long as its pod. */
const WORD =
  /^(?:[a-z]{1,12}|(?:test|dev|ci|dummy|example|password|passwd|secret|change|postgres|mysql|admin|root)[\w-]*)$/i;

function holdsSecret(text: string, path: Path, name: string): boolean {
  const [, password = ''] = LOGIN.exec(text) ?? [];
  const isPassword = password !== '' && !/^\$|\{/.test(password) && !WORD.test(password);
  if (isPassword || CREDENTIALS.some((form) => form.test(text))) return true;
  // The token itself in place of the name or the key of its Secret.
  if (/Ref$/.test(String(path.at(-2)))) return /^(?:name|key)$/.test(name) && TOKEN.test(text);
  const isOne = /^(?![./~]|\$\(|\w+:)\S{8,}$/.test(text) && !WORD.test(text);
  const isWay = text.includes('/') && !(text.length >= 32 && /\d/.test(text) && /[A-Z]/.test(text));
  return SECRET_NAME.test(name) && isOne && !isWay;
}

const FROM = '"valueFrom: {secretKeyRef: {name: NAME, key: KEY}}"';
const REVOKE = 'stands in git and in each Job. If it is real, revoke it';
const HOLDS = 'holds a secret, which stands in git. If it is real, revoke it';

function adviceAt(path: Path, text: string): string {
  const place = path.join('.');
  if (/\.env\.\d+\.value$/.test(place)) return `${REVOKE}, and name a Secret: write ${FROM}`;
  if (place.startsWith('spec.runnerConfig'))
    return `${REVOKE}, and name a Secret: write a variable of container runner in podTemplate with ${FROM}`;
  if (/\.(?:args|command)\.\d+$|^spec\.setupCommand/.test(place))
    return `${HOLDS}, and read it from a variable with ${FROM}`;
  const instead = text.includes('slack.com') ? 'slack: {channel: CHANNEL}' : 'an address without a secret';
  if (place.startsWith('spec.notify')) return `${HOLDS}. Write "${instead}": serve has the tokens`;
  const [, part] = /Ref\.(name|key)$/.exec(place) ?? [];
  return part === undefined ? `${HOLDS}, and remove it here` : `${HOLDS}, and write the ${part} of a Secret`;
}
