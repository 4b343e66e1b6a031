/** lib/pods.cjs: the final pods of groups with a podTemplate or a securityProfile. Loaded when there is one (src/look/pods.ts). */
export { finalPod } from '../look/final-pods.ts';
export { asksOf } from '../pods/asks.ts';
