/** Imported before zod makes its first schema: compiling schemas costs a tenth of a short start (docs/performance.md). */
import * as z from 'zod';

z.config({ jitless: true });
