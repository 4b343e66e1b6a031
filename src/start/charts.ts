/** lib/charts.cjs: the cdk8s app, with cdk8s and cdk8s-plus. Loaded while the answers of Gitea are on their way (src/look/look-and-plan.ts). */
export { RunnersApp } from '../charts/app.ts';
export { templateHash } from '../charts/pod-template.ts';
