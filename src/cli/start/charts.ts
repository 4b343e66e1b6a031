/** lib/charts.cjs: the cdk8s app, with cdk8s and cdk8s-plus. Loaded while the answers of Gitea are on their way (src/observe/look-and-plan.ts). */
export { RunnersApp } from '../../manifests/app.ts';
export { templateHash } from '../../manifests/pod-template.ts';
