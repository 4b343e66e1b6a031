/** What the npm package exports. */
export { RunnerGroupConstruct as RunnerGroup, type RunnerGroupProps } from './runner-group.ts';
