/** The page as HTML, from the data of view.ts. Everything is a text of JSX, which escapes it. It needs no JavaScript. */
import type { Child } from 'hono/jsx';
import type { Line } from '../../observe/explain/answer.ts';
import type { JobState } from '../../observe/explain/job-state.ts';
import { count, duration, printable } from '../../shared/printable.ts';
import { SCRIPT_PATH, STYLE_PATH } from './assets.ts';
import type { GroupAnswer, GroupRow, GroupsPage, HourOfWaits, JobAnswer, JobRow, JobsPage } from './view.ts';

/** What stands around each page. */
export interface Frame {
  readonly title: string;
  /** Absent: nobody is signed in. */
  readonly login?: string;
  /** When the figures were made, by this machine's clock, and now. Absent: there are none. */
  readonly figures?: { readonly atMs: number; readonly nowMs: number };
  /** Why they are not newer. */
  readonly trouble?: string;
  readonly path: string;
}

export function pageOf(frame: Frame, content: Child): string {
  const { figures, login, path, title, trouble } = frame;
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · CI runners`}</title>
        <link rel="stylesheet" href={STYLE_PATH} />
        {login !== undefined && <script src={SCRIPT_PATH} defer />}
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <header>
          <p class="brand">CI runners</p>
          {login !== undefined && (
            <>
              <nav aria-label="Pages">
                <NavLink to="/" path={path} text="My jobs" />
                <NavLink to="/groups" path={path} text="Groups" />
              </nav>
              <form method="post" action="/sign-out">
                <span>{printable(login)}</span> <button type="submit">Sign out</button>
              </form>
            </>
          )}
        </header>
        <main id="main" tabindex={-1}>
          <h1>{title}</h1>
          {figures && <Age {...figures} trouble={trouble} />}
          {content}
        </main>
      </body>
    </html>
  );
  return `<!doctype html>${page.toString()}`;
}

function NavLink({ path, text, to }: Readonly<Record<'path' | 'text' | 'to', string>>) {
  const isHere = to === '/' ? path === '/' || path.startsWith('/jobs/') : path.startsWith(to);
  return (
    <a href={to} aria-current={isHere ? 'page' : undefined}>
      {text}
    </a>
  );
}

/** Older figures than this are called old although nothing is known to be wrong. */
const OLD_MS = 30_000;

function Age({ atMs, nowMs, trouble }: NonNullable<Frame['figures']> & { readonly trouble: string | undefined }) {
  const isOld = trouble !== undefined || nowMs - atMs > OLD_MS;
  return (
    <p class={isOld ? 'age old' : 'age'}>
      Figures of <Time at={new Date(atMs).toISOString()} />
      {isOld && `, ${duration(nowMs - atMs)} old`}.{trouble !== undefined && ` ${printable(trouble)}`}
    </p>
  );
}

function Time({ at }: { readonly at: string }) {
  return <time datetime={at}>{`${at.slice(0, 10)} ${at.slice(11, 19)} UTC`}</time>;
}

function Ago({ at, now }: Readonly<Record<'at' | 'now', string>>) {
  return <time datetime={at}>{`${duration(Date.parse(now) - Date.parse(at))} ago`}</time>;
}

const STATES: Readonly<Record<JobState, string>> = {
  unserved: 'unserved',
  held: 'held back',
  starting: 'starting',
  blocked: 'blocked',
  running: 'running',
};

function State({ state, what }: JobRow) {
  const word = state === 'ended' ? what : STATES[state];
  return <strong class={`state ${state}`}>{word}</strong>;
}

export function jobsContent(page: JobsPage, repository: string) {
  const { checkedAt, counts, ended, jobs, page: at, pages, unknownRepositories } = page;
  const told = (Object.keys(STATES) as JobState[]).map((state) => `${counts[state]} ${STATES[state]}`).join(', ');
  const linkTo = (other: number): string => `/?${new URLSearchParams({ repository, page: String(other) })}`;
  return (
    <>
      <p role="status" id="counts">{`Jobs: ${told}.`}</p>
      {unknownRepositories > 0 && (
        <p class="old">
          {`Gitea has not said yet of ${unknownRepositories} repositories whether you may read them. Their jobs are not shown.`}
        </p>
      )}
      <form method="get" action="/" class="filter">
        <label for="repository">Repository</label>{' '}
        <input id="repository" name="repository" value={printable(repository)} maxlength={200} />{' '}
        <button type="submit">Show</button>
      </form>
      <h2>Waiting and running</h2>
      {jobs.length === 0 ? (
        <p>No job of a repository that you can read waits or runs.</p>
      ) : (
        <JobList jobs={jobs} now={checkedAt} />
      )}
      {pages > 1 && (
        <nav aria-label="More jobs">
          {at > 1 && <a href={linkTo(at - 1)}>Earlier ones</a>} {`Page ${at} of ${pages}`}{' '}
          {at < pages && <a href={linkTo(at + 1)}>More jobs</a>}
        </nav>
      )}
      <h2>Ended lately</h2>
      {ended.length === 0 ? <p>None is known.</p> : <JobList jobs={ended} now={checkedAt} />}
    </>
  );
}

function JobList({ jobs, now }: { readonly jobs: readonly JobRow[]; readonly now: string }) {
  return (
    <ul class="jobs">
      {jobs.map((job) => (
        <li key={job.id} id={`job-${job.id}`}>
          <a href={`/jobs/${job.id}`}>{`${job.repository} ${job.name}`}</a> <State {...job} />
          {job.state !== 'ended' && <p>{job.what}</p>}
          <JobFacts job={job} now={now} />
        </li>
      ))}
    </ul>
  );
}

function JobFacts({ job, now }: { readonly job: JobRow; readonly now: string }) {
  const { createdAt, endedAt, group, runner, runsOn, startedAt } = job;
  const since = endedAt === undefined ? (startedAt === undefined ? 'Created' : 'Runs since') : 'Ended';
  return (
    <dl class="facts">
      <Fact name={since}>
        <Ago at={endedAt ?? startedAt ?? createdAt} now={now} />
      </Fact>
      <Fact name="Runs on">{runsOn.join(', ') || 'no labels'}</Fact>
      {group !== undefined && <Fact name="Group">{group}</Fact>}
      {runner !== undefined && <Fact name="Runner">{runner}</Fact>}
    </dl>
  );
}

/** `3m12s` */
function span(seconds: number): string {
  return duration(seconds * 1000);
}

function Fact({ name, children }: { readonly name: string; readonly children: Child }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

export function jobContent({ answer, checkedAt, job, title }: JobAnswer) {
  return (
    <>
      <p class="answer">{title}</p>
      <p role="status">
        <State {...job} />
      </p>
      <JobFacts job={job} now={checkedAt} />
      {answer.length > 0 && <h2>Why</h2>}
      <Answer lines={answer} />
      {job.link !== undefined && (
        <p>
          <a href={job.link} rel="noreferrer">
            This job in Gitea
          </a>
        </p>
      )}
    </>
  );
}

function Answer({ lines }: { readonly lines: readonly Line[] }) {
  if (lines.length === 0) return null;
  return (
    <dl class="lines">
      {lines.map(([name, text], index) => (
        <Fact key={index} name={name}>
          {text}
        </Fact>
      ))}
    </dl>
  );
}

export function groupsContent({ broken, groups }: GroupsPage) {
  return (
    <>
      {groups.length + broken.length === 0 && (
        <p>
          You own the scope of no RunnerGroup here. Owners of an organization, of a repository and of Gitea see theirs.
        </p>
      )}
      <ul class="jobs">
        {groups.map((group) => (
          <li key={group.group} id={`group-${group.group}`}>
            <h2>
              <a href={`/groups/${group.group}`}>{group.group}</a>
            </h2>
            <GroupFacts group={group} />
          </li>
        ))}
        {broken.map(({ group, problem }) => (
          <li key={group}>
            <h2>{group}</h2>
            <p class="old">{`It cannot be served now: ${problem}`}</p>
          </li>
        ))}
      </ul>
    </>
  );
}

function GroupFacts({ group }: { readonly group: GroupRow }) {
  return (
    <>
      {group.isSuspended && <p class="old">Suspended: it starts no runners.</p>}
      {group.problem !== undefined && <p class="old">{`Not ready: ${group.problem}`}</p>}
      <dl class="facts">
        <Fact name="Scope">{group.scope}</Fact>
        <Fact name="Labels">{group.labels.join(', ')}</Fact>
        <Fact name="Cap">{group.cap}</Fact>
        <Fact name="Busy">{group.busy}</Fact>
        <Fact name="Starting">{group.starting}</Fact>
        <Fact name="Idle">{group.idle}</Fact>
        {group.debugging > 0 && <Fact name="Held for debugging">{group.debugging}</Fact>}
        <Fact name="Queue">{group.queue}</Fact>
      </dl>
    </>
  );
}

export function groupContent(group: GroupAnswer) {
  const { answer, checkedAt, jobs, moreRunners, runners, waits } = group;
  return (
    <>
      <GroupFacts group={group} />
      <Answer lines={answer} />
      <h2 id="waits">Waiting times</h2>
      <Chart waits={waits} />
      <h2 id="runners">Runners</h2>
      {runners.length === 0 ? (
        <p>There is none.</p>
      ) : (
        <section class="wide" tabindex={0} aria-labelledby="runners">
          <table>
            <Head names={['Runner', 'What it does', 'Pod', 'Node', 'Age', 'State', 'Log']} />
            <tbody>
              {runners.map((row) => (
                <tr key={row.runner}>
                  <th scope="row">{row.runner}</th>
                  <td>{row.what}</td>
                  <td>{row.pod ?? 'none'}</td>
                  <td>{row.node ?? 'none'}</td>
                  <td>{row.createdAt ? duration(Date.parse(checkedAt) - Date.parse(row.createdAt)) : 'not created'}</td>
                  <td>{row.state ?? 'not created'}</td>
                  <td>
                    {row.logLink ? (
                      <a href={row.logLink} rel="noreferrer">
                        {`Log of ${row.runner}`}
                      </a>
                    ) : (
                      'none'
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {moreRunners > 0 && <p>{`${moreRunners} more runners are not shown.`}</p>}
      <h2>Jobs</h2>
      {jobs.length === 0 ? <p>None that you can read waits or runs.</p> : <JobList jobs={jobs} now={checkedAt} />}
    </>
  );
}

function Head({ names }: { readonly names: readonly string[] }) {
  const cells = names.map((name) => <th scope="col">{name}</th>);
  return (
    <thead>
      <tr>{cells}</tr>
    </thead>
  );
}

const [WIDTH, HEIGHT, BASE] = [600, 150, 130];

function Chart({ waits }: { readonly waits: readonly HourOfWaits[] }) {
  const jobs = waits.reduce((sum, hour) => sum + hour.jobs, 0);
  if (jobs === 0) return <p>No job of the last hours is known that began on a runner of this group.</p>;
  const most = Math.max(1, ...waits.map(({ longest }) => longest));
  const step = WIDTH / waits.length;
  const heightOf = (seconds: number): number => Math.round((seconds / most) * (BASE - 20));
  return (
    <figure>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-labelledby="chart-title">
        <title id="chart-title">
          {`Waiting times by hour: the longest was ${span(most)}. The table below has the figures.`}
        </title>
        {waits.map(({ from, longest, median }, index) => {
          const [x, width] = [index * step + 4, step - 8];
          return (
            <g key={from}>
              <rect class="longest" x={x} y={BASE - heightOf(longest)} width={width} height={heightOf(longest)} />
              <rect class="median" x={x} y={BASE - heightOf(median)} width={width} height={heightOf(median)} />
              <text x={x + width / 2} y={HEIGHT - 4} text-anchor="middle">
                {from.slice(11, 13)}
              </text>
            </g>
          );
        })}
        <text x="4" y="12">{`longest ${span(most)}`}</text>
      </svg>
      <figcaption>
        {`${count(jobs, 'job')}, by the hour (UTC) in which it began. Whole bar: the longest wait. Its lower part: the median. A wait begins with the creation of the job, so it holds what the job needed, too.`}
      </figcaption>
      <details>
        <summary>Figures</summary>
        <table>
          <Head names={['Hour (UTC)', 'Jobs', 'Median', 'Longest']} />
          <tbody>
            {waits.map(({ from, jobs: some, longest, median }) => (
              <tr key={from}>
                <th scope="row">{from.slice(11, 16)}</th>
                <td>{some}</td>
                <td>{some > 0 ? span(median) : ''}</td>
                <td>{some > 0 ? span(longest) : ''}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

/** @param to where to go afterwards */
export function signInContent(to: string, why: string) {
  return (
    <>
      <p>{why}</p>
      <p>
        <a class="button" href={`/sign-in?${new URLSearchParams({ to })}`}>
          Sign in with Gitea
        </a>
      </p>
    </>
  );
}

export function messageContent(text: string) {
  return <p>{printable(text)}</p>;
}
