/**
 * Imported first by short-lived programs: zod must know before the first schema is made. By default it writes and compiles a
 * function per schema, which pays off after some ten thousand values; here it costs a tenth of the start (docs/performance.md).
 */
import * as z from 'zod';

z.config({ jitless: true });
