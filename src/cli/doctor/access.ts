/** What the service accounts of sidecar and `serve` may do: the API server is asked, which knows all roles and bindings. */
import * as z from 'zod';
import type { Deadline } from '../../clients/http/deadline.ts';
import type { KubeClient } from '../../clients/kubernetes/client.ts';
import { Failure } from '../../shared/failure.ts';
import { SERVE_RULES, SIDECAR_RULES } from '../../shared/installed/rights.ts';

/** Our two parts. */
export type Part = 'sidecar' | 'serve';

/** One answer: whether a part may do something in a namespace. */
export interface Access {
  readonly part: Part;
  readonly namespace: string;
  /** `list jobs.batch` */
  readonly deed: string;
  readonly isNeeded: boolean;
  readonly isAllowed: boolean;
}

interface Deed {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
}

/** Only Argo CD makes and deletes Jobs, and nobody of ours lists Secrets. */
const FORBIDDEN: readonly Deed[] = [
  { verb: 'create', group: 'batch', resource: 'jobs' },
  { verb: 'delete', group: 'batch', resource: 'jobs' },
  { verb: 'list', group: '', resource: 'secrets' },
];

const NEEDED: Readonly<Record<Part, readonly Deed[]>> = {
  sidecar: deedsOf(SIDECAR_RULES),
  serve: deedsOf(SERVE_RULES),
};

function deedsOf(rules: typeof SERVE_RULES): readonly Deed[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) => resources.flatMap((resource) => verbs.map((verb) => ({ verb, group, resource })))),
  );
}

const Review = z.looseObject({ status: z.looseObject({ allowed: z.boolean() }) });

/** @param account `system:serviceaccount:NAMESPACE:NAME`. A text: why nothing is known. */
export async function readAccess(
  client: KubeClient,
  part: Part,
  account: string,
  namespace: string,
  deadline: Deadline,
): Promise<readonly Access[] | string> {
  const asked = [
    ...NEEDED[part].map((deed) => ({ ...deed, isNeeded: true })),
    ...FORBIDDEN.map((deed) => ({ ...deed, isNeeded: false })),
  ];
  try {
    return await Promise.all(
      asked.map(async ({ verb, group, resource, isNeeded }) => {
        const [kind, subresource] = resource.split('/');
        const resourceAttributes = { verb, group, resource: kind, ...(subresource && { subresource }), namespace };
        const question = {
          what: 'ask what a service account may do',
          method: 'POST',
          path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
          body: {
            apiVersion: 'authorization.k8s.io/v1',
            kind: 'SubjectAccessReview',
            spec: { user: account, groups: groupsOf(account), resourceAttributes },
          },
        } as const;
        const { status, text } = await client.send(question, deadline);
        const review = status === 201 ? Review.safeParse(JSON.parse(text)).data : undefined;
        if (!review) throw new Unanswered(status);
        const deed = `${verb} ${resource}${group && `.${group}`}`;
        return { part, namespace, deed, isNeeded, isAllowed: review.status.allowed };
      }),
    );
  } catch (error) {
    if (error instanceof Unanswered)
      return error.status === 403 ? 'you may not ask that (403)' : `the cluster answered ${error.status}`;
    if (error instanceof Failure) return `the cluster did not answer (${error.code})`;
    if (error instanceof SyntaxError) return 'the answer is no JSON';
    throw error;
  }
}

/** Groups that every service account is in. */
function groupsOf(account: string): readonly string[] {
  const [, , namespace = ''] = account.split(':');
  return ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${namespace}`];
}

class Unanswered extends Error {
  readonly status: number;

  constructor(status: number) {
    super(`status ${status}`);
    this.status = status;
  }
}
