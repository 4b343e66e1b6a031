/**
 * How long a server asks to wait: `Retry-After` in seconds or as an HTTP date (RFC 9110, 10.2.3), in milliseconds from `nowMs`.
 * A date in the past is 0; undefined when there is no header or it cannot be read.
 */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  // Only the three HTTP date forms start with a day's name; Date.parse would read "7.5" as a month.
  if (!/^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
}
