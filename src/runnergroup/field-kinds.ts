/** Kinds of fields that the schema uses more than once, or that take many lines. */
import * as z from 'zod';
import { isQuantity } from './quantity.ts';
import { checkGiteaName, checkLabel, checkObjectLabel, checkSecretKey, checkUrl } from './words.ts';

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const DNS_LABEL_RULE = 'must be lower-case letters, digits and dashes, with a letter or digit at both ends';
const DNS_SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

export const dnsLabel = () => z.string().min(1).max(63).regex(DNS_LABEL, { error: DNS_LABEL_RULE });
export const giteaName = () =>
  z
    .string()
    .min(1)
    .max(255)
    .regex(/^[A-Za-z0-9._-]+$/, { error: 'must be a name in Gitea: letters, digits, dots, dashes and underscores' })
    .superRefine(words(checkGiteaName));
export const seconds = (least: number, most: number) => z.int().min(least).max(most);

export const secretName = z.string().min(1).max(253).regex(DNS_SUBDOMAIN, {
  error:
    'must be the name of a Secret: lower-case letters, digits, dashes and dots, with a letter or digit at both ends',
});
export const secretKey = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[-._a-zA-Z0-9]+$/, { error: 'must be a key of a Secret: letters, digits, dots, dashes and underscores' })
  .superRefine(words(checkSecretKey));

export const secretSelector = () =>
  z.strictObject({
    secretRef: z
      .strictObject({
        name: secretName.meta({ description: 'Name of the Secret, in the namespace of the RunnerGroup.' }),
        key: secretKey.meta({ description: 'Key in the Secret.' }),
      })
      .optional()
      .meta({ description: 'The Secret and its key.' }),
    name: secretName.optional().meta({ description: 'Older spelling of `secretRef.name`.' }),
    key: secretKey.optional().meta({ description: 'Older spelling of `secretRef.key`.' }),
  });

export const url = (example: string) =>
  z
    .string()
    .max(2048)
    .regex(/^https?:\/\/[^\s\\?#@]+$/, {
      error: `must be an http or https URL without credentials, query or fragment, e.g. ${example}`,
    })
    .superRefine(words(checkUrl));
export const giteaUrl = () => url('https://gitea.example.com');

export const runnerLabel = z.string().min(1).max(512).superRefine(words(checkLabel));

const quantity = z
  .union([z.string(), z.int().min(0)])
  .superRefine((value, context) => {
    if (!isQuantity(String(value)))
      context.addIssue({ code: 'custom', message: 'must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"' });
  })
  .meta({ description: 'Kubernetes quantity.' });
export const quantities = () => z.record(z.string().max(317), quantity);

export const objectLabels = z.record(z.string(), z.string()).superRefine((labels, context) => {
  for (const [key, value] of Object.entries(labels)) {
    const wrong = checkObjectLabel(key, value);
    if (wrong)
      context.addIssue({ code: 'custom', path: [key], message: wrong.message, params: { ofKey: wrong.ofKey } });
  }
});

/** A check of `words.ts` as zod wants it: it answers what is wrong, or nothing. */
export function words<T>(check: (value: T) => string | undefined): (value: T, context: z.RefinementCtx) => void {
  return (value, context) => {
    const message = check(value);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  };
}
