/**
 * Tests that no command of the manual has a secret as an argument: everybody on a machine can list its processes with
 * their arguments.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fencedBlocks } from '../packaging/doc-blocks.ts';
import { manualPages, pageOf } from './pages.ts';

/** Variables of the manual that hold a secret, commands that print one, and the beginnings of Slack's tokens. */
const SECRET =
  /\$\{?\w*(?:TOKEN|SECRET|PASSWORD|COOKIE_KEY)\b|\$\{?(?:token|secret|registration|webhook|argocd|password)\b|\$\(openssl rand\b|\bxox[bp]-|\bxapp-/;
/** Commands that the shell runs itself, without a process. Assignments before a command are its environment. */
const BUILT_IN = /^(?:printf|echo|test|case|export|local|read|:|set|unset)$/;

/** Commands of a script that start a program with a secret as an argument. */
function tellsAll(script: string): readonly string[] {
  // The standard input of a program is not an argument.
  const withoutInput = script.replaceAll('\\\n', ' ').replaceAll(/(<<-?\s*'?(\w+)'?.*\n)(?:.*\n)*?\s*\2$/gm, '$1');
  const commands = withoutInput.split(/\n|\|\|?|;|&&|\$\((?!openssl rand)/);
  return commands.flatMap((each) => {
    const command = each
      .trim()
      .replace(/^(?:(?:if|then|do|else|while|!|\(|\{)\s+)*/, '')
      .replace(/^(?:\w+=(?:"[^"]*"|'[^']*'|\S*)\s*)+/, '');
    const [name = ''] = command.split(/\s/);
    return name !== '' && !BUILT_IN.test(name) && SECRET.test(command) ? [command] : [];
  });
}

describe('a secret as an argument', () => {
  it.each([
    'curl -H "Authorization: token $GITEA_OWNER_TOKEN" https://gitea.example.com',
    'answer=$(curl -fsS -H "Authorization: token $GITEA_TOKEN" \\\n  https://gitea.example.com)',
    'kubectl create secret generic x --from-literal=secret="$(openssl rand -hex 32)"',
    `kubectl patch secret x -p '{"stringData": {"slack-token": "xoxb-1"}}'`,
    'kubectl get x | curl --data "$token" https://gitea.example.com <<END\nnothing\nEND',
  ])('a secret as an argument is found: %s', (script) => {
    expect(tellsAll(script)).toHaveLength(1);
  });

  it.each([
    'printf %s "$GITEA_API_TOKEN" | kubectl create secret generic x --from-file=token=/dev/stdin',
    'GITEA_TOKEN="$GITEA_OWNER_TOKEN" gitea-runners doctor -A',
    'kubectl apply -f - <<END\ntoken: $(printf %s "$token" | base64)\nEND',
    'token=$(argocd account generate-token --account gitea-runners)',
    'curl -H @/dev/fd/3 "$@" 3<<HEADER\nAuthorization: token $GITEA_OWNER_TOKEN\nHEADER',
  ])('a secret as an argument is none: %s', (script) => {
    expect(tellsAll(script)).toEqual([]);
  });

  const pages = ['README.md', 'CONTRIBUTING.md', ...manualPages().map((file) => `docs/${file}`)];
  const scripts = [
    ...pages.flatMap((page) =>
      fencedBlocks(pageOf(page).markdown).flatMap(({ language, text }) =>
        language === 'sh' ? [[page, text] as const] : [],
      ),
    ),
    ['install/install.sh', readFileSync('install/install.sh', 'utf8')] as const,
  ];

  it('stands in no command of the manual', () => {
    expect(scripts.length).toBeGreaterThan(60);
    expect(scripts.flatMap(([page, script]) => tellsAll(script).map((command) => `${page}: ${command}`))).toEqual([]);
  });
});
