/**
 * The one form in which this program says that it cannot go on.
 *
 * `exit` is the process' exit code: 1 the world (Gitea, cluster, missing file), 2 the input (RunnerGroup files, flags),
 * 3 refused (a token's binding, policy). `message` is complete and safe to show: operation, object, what came, what to do;
 * it never holds a token, a header or a response body. `code` is permanent, so that it can be searched for.
 */
export class Failure extends Error {
  readonly code: string;
  readonly exit: 1 | 2 | 3;

  constructor(code: string, exit: 1 | 2 | 3, message: string) {
    super(message);
    this.name = 'Failure';
    this.code = code;
    this.exit = exit;
  }
}
