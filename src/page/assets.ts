/** Style and script of the page. They come from this page only, and their paths change with them. */
import { createHash } from 'node:crypto';

/** Contrasts are at least 4.5 to 1, in light and dark. */
const STYLE = `
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #eef1f4; --dim: #505a66; --link: #0b57a4;
  --bad: #a4161a; --warn: #7a4b00; --go: #1a6b35; --pale: #9db8d6; --dark: #1f5fa8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --paper: #14181d; --soft: #222931; --dim: #aeb7c2;
  --link: #8ec0ff; --bad: #ff9a94; --warn: #f0c36a; --go: #7fd79a; --pale: #4a6a90; --dark: #8ec0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 70rem; padding: 0 1rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
header { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; border-bottom: 1px solid var(--dim); padding: .5rem 0; }
header form { margin-left: auto; }
.brand { font-weight: 700; margin: 0; }
nav a { margin-right: 1rem; }
a { color: var(--link); }
a[aria-current] { font-weight: 700; color: var(--ink); }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
main:focus { outline: none; }
.skip { position: absolute; left: -100rem; }
.skip:focus { left: 1rem; top: .5rem; background: var(--paper); padding: .5rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; }
.age { color: var(--dim); } .old { color: var(--warn); font-weight: 600; }
h3 { font-size: 1rem; margin: .8rem 0 .2rem; } h3 span { font-weight: 400; color: var(--dim); font-size: .9rem; }
ul { list-style: none; padding: 0; margin: .2rem 0; } ul.groups h2, ul.jobs p { margin: 0; } ul.jobs h4 { display: inline; font-size: 1rem; }
ul.groups li { border: 1px solid var(--dim); border-radius: .4rem; padding: .6rem .8rem; margin: .5rem 0; }
ul.jobs li { border-left: .3rem solid var(--warn); padding: .1rem .6rem; margin: .2rem 0; background: var(--soft); }
ul.jobs .unserved { border-color: var(--bad); } ul.jobs .running { border-color: var(--go); } ul.jobs .blocked, ul.jobs .starting { border-color: var(--dim); }
ul.jobs .ended { border-color: transparent; background: none; padding-block: 0; } ul.jobs time { color: var(--dim); } ul.jobs p, ul.jobs time { font-size: .9rem; }
.state { border: 1px solid currentColor; border-radius: .3rem; padding: 0 .4rem; font-size: .9rem; } .ended .state { border-color: transparent; }
.success, .state.running { color: var(--go); } .failure, .state.unserved { color: var(--bad); } .state.held { color: var(--warn); } .state.blocked, .state.starting { color: var(--dim); }
.success::before { content: "\\2713\\a0" / ""; } .failure::before { content: "\\2717\\a0" / ""; } .cancelled::before, .skipped::before { content: "\\2013\\a0" / ""; }
@media (max-width: 40rem) { body { line-height: 1.3; padding: 0 .6rem 2rem; } header { gap: 0 .8rem; padding: 0; font-size: .9rem; }
  header button { padding: 0 .4rem; } nav a { margin-right: .4rem; } h1 { font-size: 1.1rem; margin: .2rem 0; } h2 { font-size: 1rem; margin: .2rem 0; }
  h3 { margin: .2rem 0 0; } .age, #counts { margin: 0; font-size: .8rem; } summary { font-size: .9rem; } ul.jobs li { margin: .1rem 0; padding-block: 0; }
  h3, ul.jobs p { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; } ul.jobs p, ul.jobs time, .state { font-size: .8rem; } }
dl.facts { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin: .3rem 0; }
dl.facts div { display: flex; gap: .4rem; } dt { color: var(--dim); } dd { margin: 0; }
dl.lines div { margin: .4rem 0; } dl.lines dt { font-weight: 600; }
.answer { font-size: 1.1rem; font-weight: 600; }
button, input, select, .button { font: inherit; color: inherit; background: var(--soft); border: 1px solid var(--dim); border-radius: .3rem; padding: .3rem .7rem; max-width: 100%; }
.button { display: inline-block; text-decoration: none; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: .3rem .6rem; border-bottom: 1px solid var(--dim); }
.wide th, .wide td { overflow-wrap: normal; }
figure { margin: 0; } svg { width: 15rem; height: .8rem; } .longest { fill: var(--pale); } .median { fill: var(--dark); }
figcaption { color: var(--dim); }
`;

/** Script that loads the page again after the server has looked, while the page is visible. Focus and input stay. */
const SCRIPT = `
'use strict';
let source;
let isBusy = false;
const localize = (root) => {
  for (const time of root.querySelectorAll('time.at')) {
    const style = time.matches('.hour') ? { timeStyle: 'short' } : { dateStyle: 'medium', timeStyle: 'medium' };
    time.title = time.textContent;
    time.textContent = new Date(time.dateTime).toLocaleString([], style);
  }
  for (const utc of root.querySelectorAll('.utc')) utc.remove();
};
localize(document);
const again = async () => {
  if (isBusy) return;
  isBusy = true;
  try {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (answer.status === 401) return location.reload();
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('main');
    const main = document.getElementById('main');
    if (!next || !main) return;
    localize(next);
    if (main.querySelector('#filter')?.open) next.querySelector('#filter')?.setAttribute('open', '');
    const focus = document.activeElement;
    if (focus && focus.matches('input, select')) return;
    const path = focus && main.contains(focus) ? focus.id || focus.getAttribute('href') : undefined;
    const [counts, nextCounts] = [main, next].map((each) => each.querySelector('#counts'));
    // The node with the counts stays, so that a screen reader tells of them only when they change.
    if (counts && nextCounts) {
      if (counts.textContent !== nextCounts.textContent) counts.textContent = nextCounts.textContent;
      nextCounts.replaceWith(counts);
    }
    main.replaceChildren(...next.childNodes);
    if (path) (document.getElementById(path) || main.querySelector('a[href="' + CSS.escape(path) + '"]'))?.focus();
  } catch {
    // The server is away. The browser connects again.
  } finally {
    isBusy = false;
  }
};
const follow = () => {
  if (document.hidden) {
    source?.close();
    source = undefined;
  } else if (!source) {
    source = new EventSource('/events');
    source.addEventListener('looked', again);
    source.addEventListener('error', () => {
      // The browser does not open one again that was refused.
      if (source?.readyState !== EventSource.CLOSED) return;
      source = undefined;
      setTimeout(follow, 5000);
    });
  }
};
document.addEventListener('visibilitychange', follow);
follow();
`;

export const STYLE_PATH = pathOf(STYLE, 'css');
export const SCRIPT_PATH = pathOf(SCRIPT, 'js');

export const ASSETS = new Map([
  [STYLE_PATH, { contentType: 'text/css; charset=utf-8', text: STYLE }],
  [SCRIPT_PATH, { contentType: 'text/javascript; charset=utf-8', text: SCRIPT }],
]);

function pathOf(text: string, ending: string): string {
  return `/page-${createHash('sha256').update(text).digest('hex').slice(0, 12)}.${ending}`;
}
