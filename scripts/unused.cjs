/** Stands for a package that is imported and never called in a part of lib/ (build.mjs). */
