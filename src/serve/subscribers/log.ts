/** JSON lines for a log collector. Texts that came from outside are made printable; no header, body or token gets here. */
import { destination, type Logger, pino } from 'pino';

export type Log = Pick<Logger, 'debug' | 'info' | 'warn' | 'error'>;

/** Writes to stderr at once, so that the last line before an end is not lost. */
export function openLog(verbose: boolean): Log {
  return pino(
    {
      level: verbose ? 'debug' : 'info',
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (level) => ({ level }) },
    },
    destination({ fd: 2, sync: true }),
  );
}
