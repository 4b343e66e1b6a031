/** Texts of the workflows. Steps are shell only: nothing is fetched, no docker is needed. */

/** Sleeps in small pieces: a cancelled step's shell is killed, and one long sleep would outlive it. */
export function work(seconds: number): string {
  return `for i in $(seq ${Math.round(seconds * 4)}); do sleep 0.25; done`;
}

interface JobText {
  readonly runsOn: string;
  /** Default: 1. */
  readonly seconds?: number;
  readonly needs?: string;
  /** Number of matrix legs. */
  readonly matrix?: number;
  /** Seconds of a last step that runs after a cancel too. */
  readonly lastSeconds?: number;
}

/** Makes a workflow that is started by hand. With `cancelGroup`, a newer run of that group cancels the older one. */
export function workflow(jobs: Readonly<Record<string, JobText>>, cancelGroup?: string): string {
  const lines = ['on: workflow_dispatch'];
  if (cancelGroup !== undefined) lines.push('concurrency:', `  group: ${cancelGroup}`, '  cancel-in-progress: true');
  lines.push('jobs:');
  for (const [name, { runsOn, seconds = 1, needs, matrix, lastSeconds }] of Object.entries(jobs)) {
    lines.push(`  ${name}:`, `    runs-on: ${runsOn}`);
    if (needs !== undefined) lines.push(`    needs: ${needs}`);
    if (matrix !== undefined) {
      const legs = Array.from({ length: matrix }, (_, index) => index + 1);
      lines.push('    strategy:', '      matrix:', `        leg: [${legs.join(', ')}]`);
    }
    lines.push('    steps:', `      - run: ${JSON.stringify(work(seconds))}`);
    if (lastSeconds !== undefined)
      lines.push('      - if: always()', `        run: ${JSON.stringify(work(lastSeconds))}`);
  }
  return `${lines.join('\n')}\n`;
}

/**
 * Steps in the place of actions/checkout, as it does it: the commit of the event, with the token of the job. npm and others get a place
 * to write to, which `nobody` has not.
 */
export const PLAIN_GIT = `      - env: {TOKEN: "\${{ github.token }}"}
        run: |
          echo "npm_config_cache=$RUNNER_TEMP/npm" >> "$GITHUB_ENV"
          echo "HOME=$RUNNER_TEMP" >> "$GITHUB_ENV"
          git init --quiet .
          git -c http.extraHeader="Authorization: Basic $(printf 'x:%s' "$TOKEN" | base64 -w0)" \\
            fetch --quiet --depth=1 "\${{ github.server_url }}/\${{ github.repository }}" "\${{ github.sha }}"
          git checkout --quiet FETCH_HEAD
`;
