/** The commands of a manual, as the reader copies them. Used here and by the cluster test, which runs them. */

/** A fenced `sh` block that is marked `run: NAME`, or `not run: NAME: reason`. */
export interface DocBlock {
  readonly name: string;
  /** Why no test runs it; absent: one does. */
  readonly notRun?: string;
  readonly script: string;
}

const BLOCK = /^(?:<!-- (?<mark>[^\n]*) -->\n)?```sh\n(?<script>[\s\S]*?)^```$/gm;
const MARK = /^(?<not>not )?run: (?<name>[a-z-]+)(?:: (?<reason>.+))?$/;

/** All `sh` blocks in order. Throws on one without a mark or with two equal names: it would never be run. */
export function docBlocks(markdown: string): readonly DocBlock[] {
  const blocks = [...markdown.matchAll(BLOCK)].map(({ groups }) => {
    const script = groups?.['script'] ?? '';
    const mark = MARK.exec(groups?.['mark'] ?? '')?.groups;
    if (mark?.['name'] === undefined) throw new Error(`a block without "<!-- run: NAME -->" before it:\n${script}`);
    if ((mark['not'] === undefined) !== (mark['reason'] === undefined)) {
      throw new Error(`block ${mark['name']}: "not run" needs a reason, "run" has none`);
    }
    return { name: mark['name'], script, ...(mark['reason'] !== undefined && { notRun: mark['reason'] }) };
  });
  const twice = blocks.map(({ name }) => name).find((name, index, names) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two blocks are called ${twice}`);
  return blocks;
}

/** The script of one block. Throws when there is none of that name. */
export function docScript(markdown: string, name: string): string {
  const block = docBlocks(markdown).find((candidate) => candidate.name === name);
  if (block === undefined || block.notRun !== undefined) throw new Error(`no block "run: ${name}"`);
  return block.script;
}
