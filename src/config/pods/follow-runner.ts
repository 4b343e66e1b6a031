import { fieldValue, isMapping, listOf, type Mapping, stringOf, type Value } from './value.ts';

/**
 * What the init container that registers takes from the runner's container as it is. It needs the same image from the same registry. A
 * quota asks every container for resources, and a pod needs the larger of the two, not the sum.
 */
const FIELDS = ['image', 'imagePullPolicy', 'resources'];
/**
 * Of the security context only who the runner is: what one writes, the other must read and write. Never what it may do. In dind-rootless
 * the runner is privileged, and the container with the registration token stays without privileges.
 */
const IDENTITY = ['runAsUser', 'runAsGroup', 'runAsNonRoot', 'seLinuxOptions'];

/** The final pod with its init container `register` made like container `runner`. */
export function followRunner(pod: Mapping): Mapping {
  const spec = fieldValue(pod, 'spec');
  if (!isMapping(spec)) return pod;
  const runner = listOf(spec, 'containers').find((container) => stringOf(container, 'name') === 'runner');
  const initContainers = listOf(spec, 'initContainers').map((container) =>
    stringOf(container, 'name') === 'register' && isMapping(container) ? like(container, runner) : container,
  );
  return { ...pod, spec: { ...spec, initContainers } };
}

function like(register: Mapping, runner: Value | undefined): Mapping {
  const securityContext = taking(
    IDENTITY,
    fieldValue(register, 'securityContext'),
    fieldValue(runner, 'securityContext'),
  );
  return { ...taking(FIELDS, register, runner), securityContext };
}

/** `to` with these fields as they are in `from`, also when they are absent there. */
function taking(fields: readonly string[], to: Value | undefined, from: Value | undefined): Mapping {
  const kept = Object.entries(isMapping(to) ? to : {}).filter(([field]) => !fields.includes(field));
  const taken = fields.flatMap((field): [string, Value][] => {
    const value = fieldValue(from, field);
    return value === undefined ? [] : [[field, value]];
  });
  return Object.fromEntries([...kept, ...taken]);
}
