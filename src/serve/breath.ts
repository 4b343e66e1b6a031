/**
 * Lets the event loop turn. A plan blocks the process, and there may be many Applications. So probes, webhooks, signals and the
 * renewal of the Lease get their turn between two plans.
 */
export async function breath(): Promise<void> {
  await new Promise(setImmediate);
}
