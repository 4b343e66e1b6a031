/**
 * The construct for users of cdk8s: `import { RunnerGroup } from 'argocd-gitea-runners'`. The npm package has it as
 * lib/construct.cjs, without cdk8s itself. Its types are imports/construct.d.cts, made by `npm run generated`.
 */
import { ApiObject, type ApiObjectMetadata } from 'cdk8s';
import type { Construct } from 'constructs';
import type * as z from 'zod';
import type { Spec } from '../../config/runnergroup/group-schema.ts';
import { formatProblem, type Problem } from '../../config/runnergroup/problems.ts';
import { toRunnerGroup } from '../../config/runnergroup/to-runner-group.ts';
import { Failure } from '../../shared/failure.ts';
import { API_VERSION, KIND } from '../../shared/marks.ts';

/** Properties that a person writes. Without `metadata.name`, the name follows from the construct's path. */
export type RunnerGroupProps = Readonly<{ metadata?: ApiObjectMetadata; spec: z.input<typeof Spec> }>;

/** Node prints the stack of what an app does not catch: the place in the app is enough. */
function withStackOfCaller(failure: Failure): Failure {
  Error.captureStackTrace(failure, RunnerGroupConstruct);
  const [message = '', place = ''] = (failure.stack ?? '').split('\n    at ');
  failure.stack = `${message}\n    at ${place}`;
  return failure;
}

/** A RunnerGroup in a chart. @throws Failure (GR-INPUT-03 to 06) with all problems; later changes: at synthesis */
class RunnerGroupConstruct extends ApiObject {
  constructor(scope: Construct, id: string, props: RunnerGroupProps) {
    super(scope, id, { apiVersion: API_VERSION, kind: KIND, ...props });
    const [first, ...otherProblems] = this.#problems();
    if (first !== undefined) {
      const lines = [first, ...otherProblems].map((problem) => `  ${textWithoutPlace(problem)}`);
      const message = `RunnerGroup ${this.node.path} is not valid:\n${lines.join('\n')}`;
      throw withStackOfCaller(new Failure(first.code, 2, message));
    }
    this.node.addValidation({ validate: () => this.#problems().map(textWithoutPlace) });
  }

  #problems(): readonly Problem[] {
    // There is no file and no line. The message has the path of the construct.
    const place = { file: this.node.path, line: 0, column: 0 };
    const document = { placeOf: () => place, writtenAt: () => undefined };
    // Without a namespace, Argo CD chooses it later: its name is not known here.
    const read = toRunnerGroup({ document, base: [], value: this.toJson() }, 'default');
    return 'problems' in read ? read.problems : [];
  }
}

/** Formats a problem like `formatProblem`, without a place. */
function textWithoutPlace(problem: Problem): string {
  const text = formatProblem(problem);
  const { file, line, column } = problem.place;
  const position = `${file}:${line}:${column}: `;
  return text.startsWith(position) ? text.slice(position.length) : text;
}

export { RunnerGroupConstruct as RunnerGroup };
