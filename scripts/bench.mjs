// `npm run bench`: builds with the Node that the image ships, and times the program on it, for that is what Argo CD starts.
// `--against [COMMIT]` builds that commit, too. Default: the newest release, or while there is none the commit of a week ago.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fetchNode, NODE_VERSION } from './fetch-node.mjs';

const folder = mkdtempSync(join(tmpdir(), 'bench-node-'));
try {
  // The image is for Linux.
  const node = process.platform === 'linux' ? fetchNode(NODE_VERSION, folder) : process.execPath;
  const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
  const run = (...args) => spawnSync(node, args, { stdio: 'inherit', env }).status ?? 1;
  const [mode, commit] = process.argv.slice(2);
  const against = mode === '--against' ? ['--against', buildOf(commit ?? earlier(), env, node)] : process.argv.slice(2);
  process.exitCode = run('scripts/build.mjs') || run('scripts/run-ts.mjs', 'bench/bench.ts', ...against);
} finally {
  rmSync(folder, { recursive: true, force: true });
  execFileSync('git', ['worktree', 'prune']);
}

/** Builds a commit in a folder of its own, with the packages of this one. Answers its program. */
function buildOf(commit, env, node) {
  const tree = join(folder, 'earlier');
  execFileSync('git', ['worktree', 'add', '--detach', '--quiet', tree, commit]);
  symlinkSync(resolve('node_modules'), join(tree, 'node_modules'));
  execFileSync(node, ['scripts/build.mjs'], { cwd: tree, env, stdio: 'inherit' });
  console.log(`compared with ${commit}`);
  return join(tree, 'lib/gitea-runners.cjs');
}

function earlier() {
  const git = (...args) => spawnSync('git', args, { encoding: 'utf8' }).stdout.trim();
  const found =
    git('describe', '--tags', '--abbrev=0', 'HEAD^') || git('rev-list', '-1', '--before=7 days ago', 'HEAD');
  if (!found) throw new Error('there is neither a release nor a commit of a week ago: name a commit');
  return found;
}
