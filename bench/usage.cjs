// `node --require bench/usage.cjs PROGRAM`: what the program has used goes to the file USAGE_FILE or the descriptor USAGE_FD: peak of
// memory in KiB, CPU time in µs.
const { existsSync, readFileSync, writeFileSync } = require('node:fs');

process.on('exit', () => {
  const { systemCPUTime, userCPUTime } = process.resourceUsage();
  const { USAGE_FD, USAGE_FILE } = process.env;
  writeFileSync(USAGE_FILE ?? Number(USAGE_FD), `${peakKib()} ${systemCPUTime + userCPUTime}`);
});

/** On Linux `maxRSS` begins with the memory of the process that has started this one, which may be larger. */
function peakKib() {
  const status = '/proc/self/status';
  const own = existsSync(status) ? /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(status, 'utf8')) : null;
  return own ? Number(own[1]) : process.resourceUsage().maxRSS;
}
