// Stands for the package name `process` in bundles: what `yaml` uses of it, with an environment that is empty.
exports.env = {};
exports.emitWarning = process.emitWarning;
