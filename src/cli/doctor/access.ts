/** What the service accounts of sidecar and `serve` may do: the API server is asked, which knows all roles and bindings. */
import * as z from 'zod';
import { SERVE_RULES, SIDECAR_RULES } from '../../shared/installed/rights.ts';
import { type ClusterReader, readObject, type SeenOrNot, shaped } from '../read-object.ts';

export type Part = 'sidecar' | 'serve';

/** What a part may do in a namespace, as far as it differs from what it should. Each is a deed: `list jobs.batch`. */
export interface Access {
  readonly part: Part;
  readonly namespace: string;
  readonly lacks: readonly string[];
  readonly beyond: readonly string[];
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

/** @param account name of the service account of the part, in Argo CD's namespace */
export async function readAccess(
  reader: ClusterReader,
  part: Part,
  account: string,
  namespace: string,
): Promise<SeenOrNot<Access>> {
  const ask = async (deed: Deed) => ({ deed, review: await review(reader, deed, account, namespace) });
  const answers = await Promise.all([...NEEDED[part], ...FORBIDDEN].map(ask));
  for (const answer of answers) if ('unread' in answer.review) return answer.review;
  const allowed = new Set(
    answers.flatMap(({ deed, review: read }) => ('value' in read && read.value.status.allowed ? [deed] : [])),
  );
  const textOf = ({ verb, group, resource }: Deed): string => `${verb} ${resource}${group && `.${group}`}`;
  const lacks = NEEDED[part].filter((deed) => !allowed.has(deed)).map(textOf);
  const beyond = FORBIDDEN.filter((deed) => allowed.has(deed)).map(textOf);
  return { value: { part, namespace, lacks, beyond } };
}

async function review(
  reader: ClusterReader,
  { verb, group, resource }: Deed,
  account: string,
  namespace: string,
): Promise<SeenOrNot<z.output<typeof Review>>> {
  const { argocdNamespace } = reader;
  const [kind, subresource] = resource.split('/');
  const spec = {
    user: `system:serviceaccount:${argocdNamespace}:${account}`,
    // Groups that every service account is in.
    groups: ['system:authenticated', 'system:serviceaccounts', `system:serviceaccounts:${argocdNamespace}`],
    resourceAttributes: { verb, group, resource: kind, ...(subresource && { subresource }), namespace },
  };
  const question = {
    method: 'POST',
    path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
  } as const;
  return shaped(Review, await readObject(reader, question, 'ask that'));
}
