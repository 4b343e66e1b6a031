/** Addresses for a machine that nothing on this one uses. */
import { execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import * as z from 'zod';

/** First three numbers of the three networks of a machine. */
export interface Net {
  /** Network between this side (`.1`) and the machine (`.2`). */
  readonly link: string;
  readonly pods: string;
  readonly services: string;
}

/** Private addresses: Gitea sends webhooks to them with `ALLOWED_HOST_LIST = private`. The second is for computers with a route to all of 10. */
const RANGES = [
  ['10.213', '10.214', '10.215'],
  ['172.28', '172.29', '172.30'],
] as const;

const ATTEMPTS = 10;

/**
 * Makes the pair of virtual cards `card` (here) and `eth0` (in the machine whose first process is `pid`), the routes to the
 * machine, and answers its networks. The first route is the lock: of two starts with the same choice one gets another.
 */
export function connect(card: string, pid: number): Net {
  ip('link', 'add', card, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid));
  ip('link', 'set', card, 'up');
  let problem: unknown;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const net = choose(usedHere());
    try {
      ip('route', 'add', `${net.link}.0/30`, 'dev', card);
      ip('address', 'add', `${net.link}.1/32`, 'dev', card);
      for (const there of [net.pods, net.services])
        ip('route', 'add', `${there}.0/24`, 'via', `${net.link}.2`, 'dev', card);
      return net;
    } catch (error) {
      problem = error;
      ip('address', 'flush', 'dev', card);
      ip('route', 'flush', 'dev', card);
    }
  }
  throw new Error(`no free network after ${ATTEMPTS} attempts: ${String(problem)}`);
}

/** Three networks that have nothing in common with `used` (addresses and `address/length`). @throws when there are none. */
export function choose(used: readonly string[]): Net {
  const taken = used.map(span);
  const isFree = (net: Net): boolean =>
    [net.link, net.pods, net.services]
      .map((start) => span(`${start}.0/24`))
      .every((own) => taken.every((other) => own.last < other.first || other.last < own.first));
  const free = RANGES.map(([link, pods, services]) =>
    Array.from({ length: 250 }, (_, index) => index + 1)
      .map((number) => ({ link: `${link}.${number}`, pods: `${pods}.${number}`, services: `${services}.${number}` }))
      .filter(isFree),
  ).find(({ length }) => length > 0);
  const net = free?.[randomInt(free.length)];
  if (!net) throw new Error(`no free private network in ${RANGES.flat().join(', ')}; in use: ${used.join(', ')}`);
  return net;
}

/** Networks of the routes and the cards of this side, but for what stands for the whole Internet. */
function usedHere(): readonly string[] {
  const text = execFileSync('ip', ['-json', 'route', 'show', 'table', 'all'], { encoding: 'utf8' });
  const routes = z.array(z.object({ dst: z.string() })).parse(JSON.parse(text));
  const addresses = Object.values(networkInterfaces()).flatMap((card) => card ?? []);
  return [
    ...routes.map(({ dst }) => dst).filter((dst) => /^[0-9.]+(?:\/[0-9]+)?$/.test(dst) && !/\/[0-7]$/.test(dst)),
    ...addresses.filter(({ family }) => family === 'IPv4').flatMap(({ cidr }) => cidr ?? []),
  ];
}

/** First and last address of an address or a network. */
function span(network: string): { readonly first: number; readonly last: number } {
  const [address = '', length = '32'] = network.split('/');
  const value = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
  const size = 2 ** (32 - Number(length));
  const first = value - (value % size);
  return { first, last: first + size - 1 };
}

function ip(...args: readonly string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
