/** Data of each address of the page: the same in HTML and as JSON. */
import { LRUCache } from 'lru-cache';
import { JOB_STATES } from '../answers/job-state.ts';
import { once } from '../shared/once.ts';
import { groupContent, groupsContent, jobContent, jobsContent, type Markup, trendsContent } from './html.ts';
import type { Trends } from './trends.ts';
import { type Figures, groupFor, groupsFor, type JobsWanted, jobFor, jobsFor, type Reader, trendsFor } from './view.ts';

/** `data` as JSON, the same as `content` in HTML. */
type PageContent = Readonly<{ title: string; data: object; content: () => Markup }>;

/** The part of the figures that a reader may see, and the trends if the address is that of trends. */
type PageView = Readonly<{ figures: Figures; reader: Reader; trends: Trends | undefined }>;

/** Answers that are kept. Readers with the same rights share them, until there are newer figures. */
const MOST_ANSWERS_KEPT = 100;

/** Returns a function that finds the content of an address. Undefined: there is none, or none that the reader may see. */
export function contentFinder(logUrl: string) {
  const answers = new LRUCache<string, PageContent>({ max: MOST_ANSWERS_KEPT });
  let newest: Figures | undefined;
  return (path: string, query: URLSearchParams, view: PageView): PageContent | undefined => {
    const { figures, reader, trends } = view;
    if (newest !== figures) answers.clear();
    newest = figures;
    const jobsQuery = jobsQueryOf(path, query);
    const key = JSON.stringify([path, jobsQuery, jobsQuery.mine && reader.login, reader.rights, trends?.to]);
    const content = answers.get(key) ?? contentAt(path, jobsQuery, view, logUrl);
    if (content) answers.set(key, content);
    return content;
  };
}

function contentAt(path: string, jobsQuery: JobsWanted, { figures, reader, trends }: PageView, logUrl: string) {
  const show = <T extends object>(title: string, data: T, contentOf: (data: T) => Markup): PageContent => {
    return { title, data, content: once(() => contentOf(data)) };
  };
  if (path === '/jobs' || path === '/mine') {
    const title = jobsQuery.mine ? 'My jobs' : 'Jobs';
    return show(title, jobsFor(figures, reader, jobsQuery), (data) => jobsContent(data, jobsQuery));
  }
  if (path === '/groups') return show('Groups', groupsFor(figures, reader), groupsContent);
  const [, kind, ...rest] = path.split('/');
  const key = rest.join('/');
  const job = kind === 'jobs' && /^\d{1,15}$/.test(key) && jobFor(figures, reader, Number(key));
  if (job) return show(`${job.job.name} · ${job.job.run.name}`, job, jobContent);
  if (trends) return show(`Trends of group ${trends.group}`, trendsFor(trends, reader), trendsContent);
  const group = kind === 'groups' && groupFor(figures, reader, key, logUrl);
  return group ? show(`Group ${key}`, group, groupContent) : undefined;
}

function jobsQueryOf(path: string, query: URLSearchParams): JobsWanted {
  const [repository, branch] = ['repository', 'branch'].map((name) => (query.get(name) ?? '').slice(0, 200));
  const state = JOB_STATES.find((each) => each === query.get('state'));
  const page = Math.trunc(Number(query.get('page'))) || 1;
  return { page, repository: repository ?? '', branch: branch ?? '', state, mine: path === '/mine' };
}
