import type { TestSpecification } from 'vitest/node';
import { BaseSequencer } from 'vitest/node';

/** The files named `first` start first, so that no long one runs alone at the end. */
export function longestFirst(...first: readonly string[]): typeof BaseSequencer {
  const isFirst = ({ moduleId }: TestSpecification) => first.some((name) => moduleId.endsWith(`/${name}.test.ts`));
  return class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      return [...files.filter(isFirst), ...files.filter((file) => !isFirst(file))];
    }
  };
}
