/** Kinds of fields that the schema uses more than once, or that take many lines. */
import * as z from 'zod';
import { isQuantity } from './quantity.ts';
import {
  checkGiteaName,
  checkGiteaUrl,
  checkLabel,
  checkObjectLabel,
  checkSecretKey,
  checkUrl,
  DNS_SUBDOMAIN,
  isQualifiedName,
  words,
} from './words.ts';

const DNS_LABEL = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/;
const DNS_LABEL_RULE = 'must be lower-case letters, digits and dashes, with a letter or digit at both ends';

export const dnsLabel = () =>
  z.string().check(z.minLength(1), z.maxLength(63), z.regex(DNS_LABEL, { error: DNS_LABEL_RULE }));
export const giteaName = () =>
  z
    .string()
    .check(
      z.minLength(1),
      z.maxLength(255),
      z.regex(/^[A-Za-z0-9._-]+$/, { error: 'must be a name in Gitea: letters, digits, dots, dashes and underscores' }),
      z.superRefine(words(checkGiteaName)),
    );
export const seconds = (least: number, most: number) => z.int().check(z.gte(least), z.lte(most));

const ENDS = 'lower-case letters, digits, dashes and dots, with a letter or digit at both ends';

/** The name of a Secret, a ConfigMap and most other objects. */
export const objectName = (kind: string) =>
  z
    .string()
    .check(
      z.minLength(1),
      z.maxLength(253),
      z.regex(DNS_SUBDOMAIN, { error: `must be the name of a ${kind}: ${ENDS}` }),
    );
/** A key of a Secret or ConfigMap. */
export const objectKey = (kind: string) =>
  z.string().check(
    z.minLength(1),
    z.maxLength(253),
    z.regex(/^[-._a-zA-Z0-9]+$/, {
      error: `must be a key of a ${kind}: letters, digits, dots, dashes and underscores`,
    }),
    z.superRefine(words(checkSecretKey)),
  );
export const secretName = objectName('Secret');
export const secretKey = objectKey('Secret');

export const secretSelector = () =>
  z.strictObject({
    secretRef: z
      .strictObject({
        name: secretName.register(z.globalRegistry, { description: 'Name of the Secret.' }),
        key: secretKey.register(z.globalRegistry, { description: 'Key in the Secret.' }),
      })
      .optional()
      .register(z.globalRegistry, { description: 'The Secret and its key.' }),
    name: secretName.optional().register(z.globalRegistry, { description: 'Older spelling of `secretRef.name`.' }),
    key: secretKey.optional().register(z.globalRegistry, { description: 'Older spelling of `secretRef.key`.' }),
  });

export const url = (example: string) =>
  z.string().check(
    z.maxLength(2048),
    z.regex(/^https?:\/\/[^\s\\?#@]+$/, {
      error: `must be an http or https URL without credentials, query or fragment, e.g. ${example}`,
    }),
    z.superRefine(words(checkUrl)),
  );

export const giteaUrl = () => url('https://gitea.example.com').check(z.superRefine(words(checkGiteaUrl)));

export const runnerLabel = z.string().check(z.minLength(1), z.maxLength(512), z.superRefine(words(checkLabel)));

const quantity = z
  .union([z.string(), z.int().min(0)])
  .superRefine((value, context) => {
    if (!isQuantity(String(value)))
      context.addIssue({ code: 'custom', message: 'must be a Kubernetes quantity, e.g. 500m, 2 or "1.5Gi"' });
  })
  .register(z.globalRegistry, { description: 'Kubernetes quantity.' });
export const quantities = () => z.record(z.string().max(317), quantity);

export const objectLabels = z.record(z.string(), z.string()).superRefine((labels, context) => {
  for (const [key, value] of Object.entries(labels)) {
    const wrong = checkObjectLabel(key, value);
    if (wrong)
      context.addIssue({ code: 'custom', path: [key], message: wrong.message, params: { ofKey: wrong.ofKey } });
  }
});

/** Bytes of all keys and values (Kubernetes `TotalAnnotationSizeLimitB`). */
const MOST_ANNOTATION_BYTES = 262_144;

/** One that the API server refuses ends the sync of all groups beside it. */
export const objectAnnotations = z.record(z.string(), z.string()).superRefine((annotations, context) => {
  const bytes = Buffer.byteLength(Object.entries(annotations).flat().join(''));
  if (bytes > MOST_ANNOTATION_BYTES)
    context.addIssue({ code: 'custom', message: `has ${bytes} bytes; Kubernetes takes ${MOST_ANNOTATION_BYTES}` });
  for (const key of Object.keys(annotations)) {
    // Capitals of the prefix do not matter.
    if (isQualifiedName(key.toLowerCase())) continue;
    const message = 'must have a key such as "note" or "example.com/note"';
    context.addIssue({ code: 'custom', path: [key], message, params: { ofKey: true } });
  }
});
