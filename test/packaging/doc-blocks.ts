/** The commands of a manual, as the reader copies them. Used here and by the cluster test, which runs them. */

/** A fenced `sh` block that is marked `run: NAME`, or `not run: NAME: reason`. */
export interface DocBlock {
  readonly name: string;
  /** Why no test runs the block. Absent: one does. */
  readonly notRun?: string;
  readonly script: string;
}

/** A fenced `sh` or `yaml` block with the mark before it, if there is one. */
export interface FencedBlock {
  readonly language: 'sh' | 'yaml';
  readonly name?: string;
  readonly notRun?: string;
  readonly text: string;
}

const BLOCK =
  /^(?<indent> *)(?:<!-- (?<mark>[^\n]*) -->\n\k<indent>)?```(?<language>sh|yaml)\n(?<text>[\s\S]*?)^\k<indent>```$/gm;
const MARK = /^(?<not>not )?run: (?<name>[a-z-]+)(?:: (?<reason>.+))?$/;

/**
 * Returns all `sh` and `yaml` blocks in order, including those in lists. Throws on two equal names, and on "not"
 * without a reason or a reason without "not".
 */
export function fencedBlocks(markdown: string): readonly FencedBlock[] {
  const blocks = [...markdown.matchAll(BLOCK)].map(({ groups = {} }): FencedBlock => {
    const language = groups['language'] === 'sh' ? 'sh' : 'yaml';
    const text = (groups['text'] ?? '').replaceAll(new RegExp(`^${groups['indent']}`, 'gm'), '');
    const mark = MARK.exec(groups['mark'] ?? '')?.groups;
    if (mark?.['name'] === undefined) return { language, text };
    if ((mark['not'] === undefined) !== (mark['reason'] === undefined)) {
      throw new Error(`block ${mark['name']}: "not run" needs a reason, "run" has none`);
    }
    return { language, text, name: mark['name'], ...(mark['reason'] !== undefined && { notRun: mark['reason'] }) };
  });
  const names = blocks.flatMap(({ name }) => name ?? []);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new Error(`two blocks are called ${twice}`);
  return blocks;
}

/** Returns all `sh` blocks in order. Throws on a block without a mark: it would never be run. */
export function docBlocks(markdown: string): readonly DocBlock[] {
  return fencedBlocks(markdown)
    .filter(({ language }) => language === 'sh')
    .map(({ name, notRun, text: script }) => {
      if (name === undefined) throw new Error(`a block without "<!-- run: NAME -->" before it:\n${script}`);
      return { name, script, ...(notRun !== undefined && { notRun }) };
    });
}

/** Returns the script of one block. Throws if no block has the name. */
export function docScript(markdown: string, name: string): string {
  const block = docBlocks(markdown).find((candidate) => candidate.name === name);
  if (block === undefined || block.notRun !== undefined) throw new Error(`no block "run: ${name}"`);
  return block.script;
}
