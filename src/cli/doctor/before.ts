/** Judges what an installation needs, before there is one: of the cluster, of Argo CD and of Gitea. It changes nothing. */
import { GiteaApi } from '../../clients/gitea/api.ts';
import { giteaClient } from '../../clients/gitea/observe-gitea.ts';
import { Deadline } from '../../clients/http/request.ts';
import { Token } from '../../clients/tokens/token.ts';
import { requestOptions, type Settings } from '../../plan/settings.ts';
import { Failure, orFailure } from '../../shared/failure.ts';
import { manual } from '../../shared/installed/installed-names.ts';
import {
  bad,
  good,
  type Judgement,
  type Judgements,
  judgeRead,
  noRepoServer,
  remedyOfFailure,
  unknown,
  withCheckName,
} from '../reading/finding.ts';
import { askOwnRight, EVERYTHING } from '../reading/own-rights.ts';
import type { ClusterReader } from '../reading/read-object.ts';
import type { Installation } from './installation.ts';

/** Returns the findings of `doctor --pre`. */
export async function onlyBefore(installation: Installation, reader: ClusterReader, settings: Settings) {
  const gitea = withCheckName('Gitea', await giteaSeen(settings));
  return [
    withCheckName('Argo CD', argocd(installation)),
    withCheckName('nodes', nodes(installation)),
    withCheckName('you', await you(reader)),
    gitea,
  ].flat();
}

function argocd({ repoServer, deployments, argocdNamespace }: Installation): Judgements {
  return judgeRead(repoServer, noRepoServer(deployments, argocdNamespace), ({ spec }) => {
    const image = spec.template.spec.containers.find(({ name }) => name === 'argocd-repo-server')?.image ?? 'no image';
    return /:v?3\.\d/.test(image) ? good(image) : unknown(`${image}: 3.x was tried`, manual('compatibility.md'));
  });
}

/** Labels and sizes are judged for RunnerGroups, when there are some. */
function nodes({ nodes: read }: Installation): Judgements {
  return judgeRead(read, 'Add a node', (all) => {
    const open = all.filter(({ spec: { taints, unschedulable } }) => !unschedulable && taints.length === 0).length;
    const text = `${open} of ${all.length} take pods without tolerations`;
    return open > 0 ? good(text) : unknown(text, 'Add a node, or tolerations in spec.podTemplate');
  });
}

async function you(reader: ClusterReader): Promise<Judgement> {
  const read = await askOwnRight(reader, EVERYTHING);
  if ('value' in read && read.value) return good('an administrator of the cluster, who may install');
  const may =
    'who installs must make a CustomResourceDefinition, ClusterRoles and Secrets, and change argocd-repo-server';
  return unknown('unread' in read ? read.unread : `no administrator: ${may}`, 'Ask as the person who installs');
}

async function giteaSeen(settings: Settings): Promise<Judgement> {
  const { GITEA_TOKEN: secret, GITEA_URL: url } = settings.env;
  if (!secret || !url) return unknown('not asked', 'Set GITEA_URL and GITEA_TOKEN, and run it again');
  const http = giteaClient(requestOptions(settings));
  const around = { http, url, deadline: new Deadline(settings.timeoutMs), versions: new Map() };
  const api = new GiteaApi({ ...around, token: new Token(secret, url, 'token', 'GITEA_TOKEN') });
  const giteaVersion = await orFailure(api.version()).finally(() => http.close());
  if (giteaVersion instanceof Failure) return bad(giteaVersion.message, remedyOfFailure(giteaVersion));
  const next = `The token needs the scopes of ${manual('commands.md#token-scopes')}. Whether pods reach Gitea is seen later, without --pre`;
  return { ...good(`${giteaVersion.text} answers this machine, and does not refuse the token`), fix: next };
}
