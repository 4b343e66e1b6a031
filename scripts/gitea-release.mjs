/**
 * node scripts/gitea-release.mjs TAG FOLDER: makes the page of a release in Gitea, with notes.md as its text and every other file of the
 * folder attached. API is the address of Gitea's API, REPOSITORY is owner/name, TOKEN may write releases there.
 */
import { openAsBlob, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NOTES = 'notes.md';
const [tag, folder] = process.argv.slice(2);
const { API, REPOSITORY, TOKEN } = process.env;
if (!tag || !folder || !API || !REPOSITORY || !TOKEN)
  throw new Error('give TAG and FOLDER, and API, REPOSITORY and TOKEN in the environment');
const releases = `${API}/repos/${REPOSITORY}/releases`;

/** @throws with the status; the body of an answer may name secrets. */
async function post(url, body, headers = {}) {
  const response = await fetch(url, { method: 'POST', body, headers: { authorization: `token ${TOKEN}`, ...headers } });
  if (!response.ok) throw new Error(`POST ${url}: HTTP ${response.status}`);
  return await response.json();
}

// A draft until all files are there: nobody sees half a release.
const page = { tag_name: tag, name: tag, body: readFileSync(join(folder, NOTES), 'utf8'), draft: true };
const { id } = await post(releases, JSON.stringify(page), { 'content-type': 'application/json' });
for (const file of readdirSync(folder).filter((name) => name !== NOTES)) {
  const form = new FormData();
  form.append('attachment', await openAsBlob(join(folder, file)), file);
  await post(`${releases}/${id}/assets?name=${encodeURIComponent(file)}`, form);
}
const response = await fetch(`${releases}/${id}`, {
  method: 'PATCH',
  body: JSON.stringify({ draft: false }),
  headers: { authorization: `token ${TOKEN}`, 'content-type': 'application/json' },
});
if (!response.ok) throw new Error(`publish the release ${tag}: HTTP ${response.status}`);
