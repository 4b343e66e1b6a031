/** The history of the picture in docs/planner.md: a queue longer than the cap, needs, a cancel, a runner that crashes. */
import { groupSpec, quietHistory } from '../history.ts';

const linux = { runsOn: ['linux'] } as const;

export const AFTERNOON = quietHistory({
  groups: [groupSpec({ cap: 3 })],
  pushes: [
    {
      atS: 5,
      repo: 'acme/web',
      run: {
        jobs: [
          { key: 'build', ...linux },
          { key: 'test', needs: ['build'], matrix: ['a', 'b', 'c'], ...linux },
        ],
      },
      ciS: [60, 90, 70, 80],
    },
    {
      atS: 20,
      repo: 'acme/api',
      run: {
        jobs: [
          { key: 'lint', ...linux },
          { key: 'unit', ...linux },
        ],
      },
      ciS: [80, 110],
    },
    { atS: 60, repo: 'acme/docs', run: { jobs: [{ key: 'pages', ...linux }] }, ciS: [50] },
    { atS: 180, repo: 'acme/docs', run: { jobs: [{ key: 'pages', ...linux }] }, ciS: [50] },
    {
      atS: 300,
      repo: 'acme/api',
      run: {
        jobs: [
          { key: 'lint', ...linux },
          { key: 'unit', ...linux },
        ],
      },
      ciS: [70, 90],
    },
  ],
  acts: [{ atS: 190, kind: 'cancel-run', push: 3 }],
  pods: [12, 25, 9, 15, 60, 11, 20, 14].map((startS, nth) => (nth === 5 ? { startS, start: 'crash' } : { startS })),
});
