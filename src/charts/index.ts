/** The room's door: everything that loads cdk8s, imported late by the commands. */
export { buildApp } from './app.ts';
export { knowsRunnerGroups } from './group-manifest.ts';
export { templateHash } from './pod-template.ts';
export { renderManifests } from './render.ts';
