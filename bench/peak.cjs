// `node --require bench/peak.cjs PROGRAM`: the program's peak of memory goes to the descriptor PEAK_FD as KiB.
process.on('exit', () => {
  require('node:fs').writeSync(Number(process.env.PEAK_FD), String(process.resourceUsage().maxRSS));
});
