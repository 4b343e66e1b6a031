/** Loaded into a process before its program (`--import`): writes the process' peak memory, in KiB, into the file PEAK_MEMORY_FILE. */
import { writeFileSync } from 'node:fs';

process.on('exit', () => writeFileSync(process.env.PEAK_MEMORY_FILE, String(process.resourceUsage().maxRSS)));
