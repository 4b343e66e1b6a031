/** lib/pods.cjs: the final pods of groups with a podTemplate or a securityProfile, or of a platform's app. Loaded when there is one (src/plan/group-pods.ts). */

export { asksOf } from '../../config/pods/asks.ts';
export { finalPod } from '../../plan/final-pods.ts';
export { judgeJob } from '../../plan/made-job.ts';
