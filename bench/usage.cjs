// `node --require bench/usage.cjs PROGRAM`: what the program has used goes to the descriptor USAGE_FD: peak of memory in KiB, CPU time in µs.
process.on('exit', () => {
  const { maxRSS, systemCPUTime, userCPUTime } = process.resourceUsage();
  require('node:fs').writeSync(Number(process.env.USAGE_FD), `${maxRSS} ${systemCPUTime + userCPUTime}`);
});
