/** Rules for the whole of `src`. Imports between rooms: test/import-rules.test.ts. Import circles: biome.json. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.tsx?$/.test(file))
  .map((file) => ({ file: join('src', file), text: readFileSync(join('src', file), 'utf8') }));

/** `name` of each exported interface, type and class. */
function exportedTypes(text: string): readonly string[] {
  const found = text.matchAll(/^export (?:declare )?(?:abstract )?(?:interface|type|class) (\w+)/gm);
  return [...found].map(([, name = '']) => name);
}

describe('one word means one thing', () => {
  it('what a runner takes under a limit is a slot, not a place or a room (docs/glossary.md)', () => {
    const words = /\b(?:takes?|gets?|gives?|keeps?|free) (?:its |the |an? |no )?(?:places?|rooms?)\b/i;
    const names = /\b(?:place|room)s?[A-Z]|(?:Place|Room)s?\b/;
    const planner = files.filter(({ file }) => file.startsWith('src/planner/'));

    expect(planner.filter(({ text }) => words.test(text) || names.test(text)).map(({ file }) => file)).toEqual([]);
    expect('/** Free places go to the jobs that wait. */').toMatch(words);
  });

  it('a sentence for people has no name of a type of the program: a rename has gone too far', () => {
    const names = new Set(
      files.flatMap(({ text }) =>
        [...text.matchAll(/^(?:export )?(?:interface|type(?=[^=\n]+= Readonly<\{)) (\w+)/gm)].map((m) => m[1]),
      ),
    );
    for (const word of ['RunnerGroup', 'Lease', 'Secret', 'Pod', 'Job', 'Application', 'Event']) names.delete(word);
    const mangledIn = (text: string) =>
      [...text.matchAll(/^(?!\s*(?:\*|\/\/|\/\*|import )).*$/gm)]
        .flatMap(([line]) => [...line.matchAll(/'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`/g)].map(([quoted]) => quoted))
        .map((quoted) => quoted.replace(/\$\{[^}]*\}/g, ''))
        .filter((quoted) => / \w+ \w+/.test(quoted))
        .flatMap((quoted) => quoted.match(/\b[A-Z][a-z]+[A-Z]\w*/g) ?? [])
        .filter((word) => names.has(word));

    expect(files.flatMap(({ file, text }) => mangledIn(text).map((word) => `${file} ${word}`))).toEqual([]);
    expect(mangledIn("const why = 'GivenSettings are the RunnerGroup of it';")).toEqual(['GivenSettings']);
  });

  it('no two files export a type of one name', () => {
    const homes = new Map<string, string[]>();
    for (const { file, text } of files) {
      for (const name of new Set(exportedTypes(text))) homes.set(name, [...(homes.get(name) ?? []), file]);
    }
    const twice = [...homes].filter(([, at]) => at.length > 1);

    expect(homes.size).toBeGreaterThan(200);
    expect(twice).toEqual([]);
  });
});

it('how Gitea is asked is handed down whole: only flags and the client name its fields, so a new one reaches whoever asks (law V128)', () => {
  // The private CA is such a field. Argo CD has its own.
  const naming = files
    .filter(({ file }) => !/^src\/(?:clients|manifests|config|shared|planner)\//.test(file))
    .flatMap(({ file, text }) =>
      text.split('\n').flatMap((line) => (/^[^*/]*\bca\b/.test(line) ? [[file, line.trim()]] : [])),
    );

  expect(naming.filter(([, line]) => !/argocd/.test(line ?? '')).sort()).toEqual([
    ['src/cli/reading/command-settings.ts', '...(caFile !== undefined && { ca: readCa(caFile) }),'],
    ['src/cli/reading/command-settings.ts', "export function readCa(file: string, flag = '--ca-file'): string {"],
    ['src/serve/serving.ts', 'readonly ca?: string;'],
  ]);
});

it('comments name files that are there', () => {
  const all = ['src', 'test', 'packaging', 'scripts', 'demo', 'simulator', 'imports'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `/${join(folder, file)}`),
  );
  const gone = files.flatMap(({ file, text }) =>
    [...text.matchAll(/^(?:.*\s\/\/|\s*\/?\*).*$/gm)]
      .flatMap(([comment]) => [...comment.matchAll(/[\w.][\w./-]*\.tsx?\b/g)])
      .flatMap(([name]) => (all.some((each) => each.endsWith(`/${name}`)) ? [] : [`${file}: ${name}`])),
  );

  expect(gone).toEqual([]);
});

it('URLs are parsed by src/shared/url.ts: URL.canParse of Node 20 is sometimes wrong', () => {
  expect(files.filter(({ text }) => text.includes('URL.canParse(')).map(({ file }) => file)).toEqual([]);
});

it('no file but src/planner/names.ts knows the form of a runner name: all others ask parseRunnerName', () => {
  const reads = /(?:includes|startsWith|endsWith|[iI]ndexOf|match|matchAll|split|slice|substring|replace|search)\(/;
  const forms = [
    new RegExp(`\\brunner(?:Name)?\\)?\\??\\.${reads.source}`),
    new RegExp(`(?:${reads.source}|RegExp\\()\\s*\`[^\`]*\\$\\{[^}]*\\b(?:id|attempt)\\b`),
    /0-9a-f\]\)?\{4\}/,
  ];
  const found = files.filter(({ text }) => forms.some((form) => form.test(text)));

  expect(found.map(({ file }) => file)).toEqual(['src/planner/names.ts']);
  const hole = '${';
  expect(`runner.includes('-7-')`).toMatch(forms[0] as RegExp);
  expect(`name.startsWith(\`${hole}prefix}-${hole}job.id}-\`)`).toMatch(forms[1] as RegExp);
});

it('no file but src/shared/clock.ts knows the time: code that waits gets a clock as an argument', () => {
  const knows =
    /\b(?:setTimeout|setInterval|Date\.now|performance\.now|process\.hrtime|Math\.random)\b|timers\/promises/;
  const found = files.filter(({ text }) => knows.test(text));

  // The command line hands it in. The other one is a script that runs in a browser.
  expect(found.map(({ file }) => file).sort()).toEqual([
    'src/cli/commands/serve.ts',
    'src/cli/process.ts',
    'src/page/assets.ts',
    'src/shared/clock.ts',
  ]);
});

it('no test that .ci/run starts is skipped: it counts as failed there', () => {
  const skips = /\b(?:it|test|describe)\.(?:skip|skipIf|runIf|todo)\b/;
  const found = readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join('test', file))
    .filter((file) => skips.test(readFileSync(file, 'utf8')));

  // .ci/run does not start this one.
  expect(found).toEqual(['test/cluster/migrate.test.ts']);
});

/** Returns the names of the tests in a file. Rows of a table count if the name is `%s` and more. */
function namesOfTests(text: string): readonly string[] {
  const single = [...text.matchAll(/\b(?:it|test)(?:\.\w+)*\(\s*['"`](.*)/g)].map(([, name = '']) => name);
  const tables = text.split(/(?<!describe)\.each/).slice(1);
  const inTables = tables.flatMap((table) => {
    const [rows = ''] = table.split(/\)\(\s*['"`]/, 1);
    const name = /^\)\(\s*['"`](.*)/.exec(table.slice(rows.length))?.[1] ?? '';
    return name.startsWith('%s') ? [...rows.matchAll(/\[\s*['"`](.*)/g)].map(([, row = '']) => row) : [name];
  });
  return [...single, ...inTables];
}

it('the name of a test is a claim by itself: none goes on with the name of its group or of the test before it', () => {
  const another = 'and|also|but|nor|so|then|unless|until|when|where|while';
  const group =
    'about|as|behind|below|beside|by|for|from|in|into|of|on|than|that|to|under|which|who|whose|with|without';
  const goesOn = new RegExp(`^(?:${another}|${group}) `);
  const found = readdirSync('test', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .flatMap((file) => {
      const names = namesOfTests(readFileSync(join('test', file), 'utf8'));
      return names.filter((name) => goesOn.test(name)).map((name) => `${file}: ${name}`);
    });

  expect(found, 'such a name begins with a word that needs the name before it: begin with its subject').toEqual([]);

  const of = 'of';
  const goOn = namesOfTests(`
    it('${of} a Job goes on', () => {
    it.each([1])('${of} %i goes on', () => {
    describe.each([1])('with %i', () => {
    test.each<[string]>([
      ['${of} a row', 1],
    ] as const)('%s', () => {`);
  expect(goOn.filter((name) => goesOn.test(name))).toHaveLength(3);
});

it('no code of an error is compared: its text is for people, and Failure.kind for the program', () => {
  const compares = [
    /(?:[!=]==|case|(?:With|includes|has|test|indexOf|Set)\(\[?)\s*['"`/]\^?GR-/,
    /['"`]GR-[\w-]*['"`]\s*[!=]==/,
    /\b(?:[fF]ailure|failed)\.code\s*[!=]==/,
  ];
  const found = files.filter(({ text }) => compares.some((one) => one.test(text)));

  expect(found.map(({ file }) => file)).toEqual([]);
});
