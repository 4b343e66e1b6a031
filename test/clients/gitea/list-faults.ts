/** Lists that contradict themselves, move without end, or fail after the first page. */
import { jobRow, jobRows, json, runnerRow } from '../../support/gitea-stand-in.ts';
import { bent, type Fault, incomplete, JOBS, LEAK, onPath, onState, RUNNERS, SERVER, SHAPE, status } from './fault.ts';

export const LIST_FAULTS: readonly Fault[] = [
  {
    name: 'a count without rows',
    code: 'GR-GITEA-09',
    handler: bent(onPath(JOBS), (_seen, response) => json(response, { jobs: [], total_count: 3 })),
    message: incomplete('list queued jobs of org acme', JOBS, 'is 3', 0),
  },
  {
    name: 'a row that comes twice',
    code: 'GR-GITEA-09',
    handler: bent(onPath(JOBS), (_seen, response) => json(response, { jobs: [jobRow(1), jobRow(1)], total_count: 2 })),
    message: incomplete('list queued jobs of org acme', JOBS, 'is 2', 1),
  },
  {
    name: 'an empty second page',
    code: 'GR-GITEA-09',
    handler: bent(
      onState('queued', '2'),
      (_seen, response) => json(response, { jobs: [], total_count: 60 }),
      jobRows(1, 60),
    ),
    message: incomplete('list queued jobs of org acme', JOBS, 'is 60', 50),
  },
  {
    name: 'a second page that repeats the first (a cache that ignores the query)',
    code: 'GR-GITEA-09',
    handler: bent(
      onState('queued', '2'),
      (_seen, response) => json(response, { jobs: jobRows(1, 50), total_count: 60 }),
      jobRows(1, 60),
    ),
    message: incomplete('list queued jobs of org acme', JOBS, 'is 60', 50),
  },
  {
    name: 'a later page that fails',
    code: 'GR-GITEA-05',
    handler: bent(onState('queued', '3'), status(500), jobRows(1, 150)),
    message: (origin) =>
      `list queued jobs of org acme, page 3: GET ${origin}${JOBS}: an error of the server (500). ${SERVER}.`,
  },
  {
    name: 'a running job that stays missing',
    code: 'GR-GITEA-09',
    handler: bent(
      onState('in_progress', '2'),
      (_seen, response) => json(response, { jobs: jobRows(51, 9, 'in_progress'), total_count: 60 }),
      jobRows(1, 60, 'in_progress'),
    ),
    message: incomplete('list running jobs of org acme', JOBS, 'is 60', 59),
  },
  {
    name: 'running jobs whose count never holds still',
    code: 'GR-GITEA-09',
    handler: bent(
      onState('in_progress', '2'),
      (_seen, response) => json(response, { jobs: jobRows(51, 10, 'in_progress'), total_count: 61 }),
      jobRows(1, 60, 'in_progress'),
    ),
    message: incomplete('list running jobs of org acme', JOBS, 'moves between 60 and 61', 60),
  },
  {
    name: 'a list without end',
    code: 'GR-GITEA-09',
    handler: bent(onPath(JOBS), (_seen, response) => json(response, { jobs: jobRows(1, 50), total_count: 20_001 })),
    message: (origin) =>
      `list queued jobs of org acme: GET ${origin}${JOBS}: total_count is 20001, but only 50 of these rows arrived, in each of 4 readings. Nothing was rendered. Check what stands before Gitea (caches), or try again when it is less busy.`,
  },
  {
    name: 'runners that may not be listed',
    code: 'GR-GITEA-02',
    handler: bent(onPath(RUNNERS), status(403)),
    message: (origin) =>
      `list the runners of org acme: GET ${origin}${RUNNERS}: Gitea forbids it (403). The token needs scope read:organization, and its user must be an owner of the org. It is in the Secret of authToken.`,
  },
  {
    name: 'runners that stay missing',
    code: 'GR-GITEA-09',
    handler: bent(onPath(RUNNERS), (_seen, response) =>
      json(response, { runners: [runnerRow(1, LEAK)], total_count: 2 }),
    ),
    message: incomplete('list the runners of org acme', RUNNERS, 'is 2', 1),
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
