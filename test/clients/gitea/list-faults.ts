/** Lists that contradict themselves, move without end, or fail after the first page. */
import { type JobRow, jobRow, jobRows, json, runnerRow } from '../../support/gitea-stand-in.ts';
import { bent, type Fault, incomplete, JOBS, LEAK, onPath, onState, RUNNERS, SERVER, SHAPE, status } from './fault.ts';

const QUEUED = 'list queued jobs of org acme';
const RUNNING = 'list running jobs of org acme';

/** Such a list, and the text for it. @param jobs of the Gitea that gives this answer to some questions only. */
function contradicts(
  name: string,
  when: Parameters<typeof bent>[0],
  body: object,
  message: Fault['message'],
  jobs?: JobRow[],
): Fault {
  return { name, code: 'GR-GITEA-09', handler: bent(when, (_seen, response) => json(response, body), jobs), message };
}

export const LIST_FAULTS: readonly Fault[] = [
  contradicts('a count without rows', onPath(JOBS), { jobs: [], total_count: 3 }, incomplete(QUEUED, JOBS, 'is 3', 0)),
  contradicts(
    'a row that comes twice',
    onPath(JOBS),
    { jobs: [jobRow(1), jobRow(1)], total_count: 2 },
    incomplete(QUEUED, JOBS, 'is 2', 1),
  ),
  contradicts(
    'an empty second page',
    onState('queued', '2'),
    { jobs: [], total_count: 60 },
    incomplete(QUEUED, JOBS, 'is 60', 50),
    jobRows(1, 60),
  ),
  contradicts(
    'a running job that stays missing',
    onState('in_progress', '2'),
    { jobs: jobRows(51, 9, 'in_progress'), total_count: 60 },
    incomplete(RUNNING, JOBS, 'is 60', 59),
    jobRows(1, 60, 'in_progress'),
  ),
  contradicts(
    'running jobs whose count never holds still',
    onState('in_progress', '2'),
    { jobs: jobRows(51, 10, 'in_progress'), total_count: 61 },
    incomplete(RUNNING, JOBS, 'moves between 60 and 61', 60),
    jobRows(1, 60, 'in_progress'),
  ),
  contradicts(
    'a list without end',
    onPath(JOBS),
    { jobs: jobRows(1, 50), total_count: 20_001 },
    incomplete(QUEUED, JOBS, 'is 20001', 50),
  ),
  contradicts(
    'runners that stay missing',
    onPath(RUNNERS),
    { runners: [runnerRow(1, LEAK)], total_count: 2 },
    incomplete('list the runners of org acme', RUNNERS, 'is 2', 1),
  ),
  {
    name: 'a later page that fails',
    code: 'GR-GITEA-05',
    handler: bent(onState('queued', '3'), status(500), jobRows(1, 150)),
    message: (origin) =>
      `list queued jobs of org acme, page 3: GET ${origin}${JOBS}: an error of the server (500). ${SERVER}.`,
  },
  {
    name: 'runners that may not be listed',
    code: 'GR-GITEA-02',
    handler: bent(onPath(RUNNERS), status(403)),
    message: (origin) =>
      `list the runners of org acme: GET ${origin}${RUNNERS}: Gitea forbids it (403). The token needs scope read:organization, and its user must be an owner of the org. It is in the Secret of authToken.`,
  },
  {
    name: 'a runner row that is bent',
    code: 'GR-GITEA-08',
    handler: bent(onPath(RUNNERS), (_seen, response) =>
      json(response, { runners: [runnerRow(4, LEAK, { busy: LEAK })], total_count: 1 }),
    ),
    message: (origin) =>
      `list the runners of org acme: GET ${origin}${RUNNERS}: the answer is not what Gitea sends: runner 4 has no usable "busy". ${SHAPE}.`,
  },
  {
    name: 'a completed job that is bent',
    code: 'GR-GITEA-08',
    handler: bent(onState('completed'), (_seen, response) =>
      json(response, { jobs: [jobRow(8, 'completed', { run_id: LEAK })], total_count: 1 }),
    ),
    message: (origin) =>
      `list completed jobs of org acme: GET ${origin}${JOBS}: the answer is not what Gitea sends: job 8 has no usable "run_id". ${SHAPE}.`,
  },
];
