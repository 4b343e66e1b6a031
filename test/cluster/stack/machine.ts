/**
 * A machine of its own inside this one: Linux namespaces for processes, mounts, network, IPC and host name. Ports, iptables rules,
 * bridges and mounts of the cluster exist only in there, and all of it is gone the moment its first process ends, whatever happens
 * to the test. A pair of virtual network cards connects both sides.
 */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { type Playground, type Running, waitUntil } from '../../servers/process.ts';
import { makeControlGroups } from './cgroups.ts';
import { connect, type Net } from './network.ts';

const run = promisify(execFile);

export interface Service {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Folders of programs, put before PATH. */
  readonly binaries?: string;
}

export class Machine {
  readonly folder: string;
  /** Address of the machine, for the test and for everything in it. */
  readonly ip: string;
  /** Address of this side, for what runs outside and is called from inside. */
  readonly outside: string;
  /** First three numbers of the addresses of pods and of Services; this side has routes to them. */
  readonly pods: string;
  readonly services: string;
  /** Its tree of control groups, `/<name of the folder>` in every hierarchy. Pods belong below it. */
  readonly controlGroup: string;
  readonly #playground: Playground;
  readonly #first: Running;
  /** Id of its first process as this side sees it. */
  readonly #pid: number;
  /** The last started process of each name. */
  readonly #services = new Map<string, Running>();

  private constructor(playground: Playground, first: Running, pid: number, net: Net) {
    this.#playground = playground;
    this.#first = first;
    this.#pid = pid;
    this.ip = `${net.link}.2`;
    this.outside = `${net.link}.1`;
    this.pods = net.pods;
    this.services = net.services;
    this.folder = playground.folder;
    this.controlGroup = `/${basename(playground.folder)}`;
  }

  static async start(playground: Playground): Promise<Machine> {
    playground.makeFolder('log');
    playground.makeFolder('pid');
    playground.makeFolder('settings');
    const first = playground.start({
      command: 'unshare',
      args: [
        ...['--mount', '--pid', '--net', '--uts', '--ipc', '--fork', '--kill-child=SIGKILL', '--mount-proc'],
        ...['tini', '--', 'sleep', 'infinity'],
      ],
      cwd: playground.folder,
      env: {},
      logFile: join(playground.folder, 'machine.log'),
      asMyself: true,
    });
    // Before it is tini, its namespaces are not complete.
    const made = async (): Promise<boolean> => nameOf(childOf(first.pid)) === 'tini';
    await waitUntil('start the machine', made, { timeoutMs: 5_000, running: first });
    const pid = childOf(first.pid) ?? 0;
    const card = `gr${first.pid}`;
    playground.removeCardAtEnd(card);
    const machine = new Machine(playground, first, pid, connect(card, pid));
    makeControlGroups(machine.controlGroup, (tree) => playground.removeControlGroupsAtEnd(tree));
    await machine.run('sh', ['-ec', setUp(machine)]);
    return machine;
  }

  /** Starts a process that stays. Its log is `log/<name>.log`. */
  start({ name, command, args, env = {}, binaries }: Service): void {
    const pidFile = this.#pidFile(name);
    // The shell writes its id as the machine sees it, then becomes the program.
    const shell = ['sh', '-c', `echo $$ > ${pidFile}; exec "$@"`, 'sh', command, ...args];
    const running = this.#playground.start({
      command: 'nsenter',
      args: [...this.#enter(), ...shell],
      cwd: this.folder,
      env: { HOME: this.folder, ...env },
      logFile: join(this.folder, 'log', `${name}.log`),
      ...(binaries !== undefined && { binaries }),
      asMyself: true,
    });
    this.#services.set(name, running);
  }

  /** Ends a process and waits for its end. */
  async stop(name: string, signal: 'TERM' | 'KILL' = 'TERM'): Promise<void> {
    const running = this.#services.get(name);
    if (!running) throw new Error(`end ${name}: it was never started`);
    await this.signal(name, signal);
    await waitUntil(`end ${name}`, async () => running.hasExited(), { timeoutMs: 30_000 });
  }

  /** Sends a signal to a process that `start` started. */
  async signal(name: string, signal: 'TERM' | 'KILL' | 'STOP' | 'CONT'): Promise<void> {
    const pid = readFileSync(this.#pidFile(name), 'utf8').trim();
    await this.run('sh', ['-c', `kill -${signal} ${pid} || true`]);
    // nsenter stops with its child, and does not continue with it.
    if (signal === 'CONT') this.#services.get(name)?.signal('SIGCONT');
  }

  /** Runs a program in the machine to its end. @throws with its stderr. */
  async run(command: string, args: readonly string[], stdin?: string): Promise<string> {
    // kubectl and argocd keep caches at home.
    const env = { ...process.env, HOME: this.folder };
    const child = run('nsenter', [...this.#enter(), command, ...args], { maxBuffer: 64 * 1024 * 1024, env });
    if (stdin !== undefined) child.child.stdin?.end(stdin);
    try {
      return (await child).stdout;
    } catch (error) {
      const { stderr = '' } = error as { stderr?: string };
      throw new Error(`${command} ${args.join(' ').slice(0, 300)}: ${stderr.slice(-2_000) || String(error)}`);
    }
  }

  /**
   * Waits until `check` is true.
   * @throws after a minute, or as soon as the service of that name has ended; with the end of its log
   */
  async until(name: string, check: () => Promise<boolean>, timeoutMs = 60_000): Promise<void> {
    await waitUntil(`start ${name}`, check, { timeoutMs, running: this.#services.get(name) ?? this.#first });
  }

  /** Writes a file into the folder and answers its path. */
  write(name: string, text: string): string {
    const file = join(this.folder, name);
    writeFileSync(file, text);
    return file;
  }

  /** Ends every process in it at once. A second call has no effect. */
  async close(): Promise<void> {
    if (this.#first.hasExited()) return;
    process.kill(this.#pid, 'SIGKILL');
    await this.#first.exited;
  }

  #enter(): string[] {
    return ['--target', String(this.#pid), '--mount', '--pid', '--net', '--uts', '--ipc', '--'];
  }

  #pidFile(name: string): string {
    return join(this.folder, 'pid', name);
  }
}

function nameOf(pid: number | undefined): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}

function childOf(pid: number): number | undefined {
  try {
    const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    return child ? Number(child) : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Settings of the kernel that the kubelet wants. They are global: it would change them for the whole computer, and for
 * ever. So files with the right values are mounted over them.
 */
const KERNEL_SETTINGS: Readonly<Record<string, number>> = {
  'vm/overcommit_memory': 1,
  'vm/panic_on_oom': 0,
  'kernel/panic': 10,
  'kernel/panic_on_oops': 1,
  'kernel/keys/root_maxkeys': 1_000_000,
  'kernel/keys/root_maxbytes': 25_000_000,
};

/** Returns the commands for the empty machine. Writes outside the machine's folder go to memory and end with it. */
function setUp({ folder, ip, outside }: Machine): string {
  const settings = Object.entries(KERNEL_SETTINGS).map(([name, value]) => {
    const file = join(folder, 'settings', name.replaceAll('/', '.'));
    return `echo ${value} > ${file}; mount --bind ${file} /proc/sys/${name}`;
  });
  return `
    mount --make-rprivate /
    for there in /run /var/lib /var/log; do mount -t tmpfs machine $there; done
    mkdir /run/lock
    # As udev leaves it: anybody may create a network interface in a network namespace of his own. Rootless docker does.
    if [ -d /dev/net ]; then mount -t tmpfs machine /dev/net; mknod -m 666 /dev/net/tun c 10 200; fi
    ${settings.join('\n')}
    ip link set lo up
    ip address add ${ip}/30 dev eth0
    ip link set eth0 up
    ip route add default via ${outside}
    hostname node1
    echo 1 > /proc/sys/net/ipv4/ip_forward
  `;
}
