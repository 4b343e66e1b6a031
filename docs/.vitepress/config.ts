/** The manual as a site: `npm run docs` builds it into site/. A link to a page or file that is not there fails the build. */
import { defineConfig } from 'vitepress';
import packageJson from '../../package.json' with { type: 'json' };
import { asInTheRepository, slugOf } from './markdown.ts';
import { SIDEBAR } from './pages.ts';

const repository = packageJson.repository.url.replace(/^git\+/, '').replace(/\.git$/, '');

export default defineConfig({
  title: packageJson.name,
  description: packageJson.description,
  outDir: '../site',
  markdown: {
    anchor: { slugify: slugOf },
    config: asInTheRepository(repository),
  },
  themeConfig: {
    // The index is a file of the site: no server searches.
    search: { provider: 'local' },
    nav: [
      { text: 'Tutorial', link: '/tutorial' },
      { text: 'Recipes', link: '/recipes/' },
      { text: 'RunnerGroup', link: '/runnergroup' },
      { text: 'Repository', link: repository },
    ],
    sidebar: SIDEBAR as never,
    outline: { level: [2, 3] },
    footer: { message: `Version ${packageJson.version}. License: ${packageJson.license}.` },
  },
});
