import { ApiObject, App, Chart } from 'cdk8s';
import type { Construct } from 'constructs';
import { yamlText } from '../src/config/runnergroup/yaml-text.ts';

/** Written above every generated file. */
export const HEADER = '# Made from packaging by "npm run generated".\n';

/** One YAML file: a chart whose objects keep their order and carry a comment for those who read the file. */
export class ManifestFile extends Chart {
  /** Lines that begin with `#`. */
  readonly #notes = new Map<ApiObject, string>();

  constructor(id: string) {
    super(new App(), id, { disableResourceNameHashes: true });
  }

  /** Says above an object why it is there. */
  note(construct: Construct, text: string): void {
    this.#notes.set(ApiObject.of(construct), comment(text));
  }

  /** The objects as YAML documents, in the order in which they were made. */
  text(): string {
    return this.apiObjects
      .map((object) => `${this.#notes.get(object) ?? ''}${yamlText(object.toJson())}`)
      .join('---\n');
  }
}

/** `# ` before each line. */
export function comment(text: string): string {
  return text
    .split('\n')
    .map((line) => `# ${line}`.trimEnd().concat('\n'))
    .join('');
}
