/** lib/pods.cjs: the final pods of groups with a podTemplate or a securityProfile, or of a platform's app. Loaded when there is one (src/observe/pods.ts). */

export { asksOf } from '../../config/pods/asks.ts';
export { finalPod } from '../../observe/final-pods.ts';
export { judgeJob } from '../../observe/made-job.ts';
