import { yamlText } from '../src/config/runnergroup/yaml-text.ts';
import { LOOK_NOW, SUSPENDED } from '../src/shared/marks.ts';

/**
 * Actions on a RunnerGroup in Argo CD. Each changes one annotation, which git does not hold, so no sync takes it back. Argo CD's RBAC says
 * who may run which. Lua as in `HEALTH_LUA`; who asks is not known to it: Argo CD writes an Event about the Application.
 */
const DISCOVERY_LUA = `local annotations = obj.metadata.annotations or {}
local suspended = annotations["${SUSPENDED}"] ~= nil
local inGit = obj.spec ~= nil and obj.spec.suspend == true
return {
  suspend = {disabled = suspended or inGit, displayName = "Suspend", iconClass = "fa fa-fw fa-pause"},
  resume = {disabled = not suspended, displayName = "Resume", iconClass = "fa fa-fw fa-play"},
  ["look-now"] = {disabled = false, displayName = "Look now", iconClass = "fa fa-fw fa-eye"},
}
`;

const TIME_LUA = 'require("os").date("!%Y-%m-%dT%H:%M:%SZ")';

function annotate(key: string, value: string): string {
  return `if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["${key}"] = ${value}
return obj
`;
}

const RESUME_LUA = `if obj.metadata.annotations ~= nil then
  obj.metadata.annotations["${SUSPENDED}"] = nil
end
return obj
`;

/** The text of argocd-cm. */
export const ACTIONS = yamlText({
  'discovery.lua': DISCOVERY_LUA,
  definitions: [
    {
      name: 'suspend',
      'action.lua': annotate(SUSPENDED, `"since " .. ${TIME_LUA} .. ", by an action in Argo CD"`),
    },
    { name: 'resume', 'action.lua': RESUME_LUA },
    { name: 'look-now', 'action.lua': annotate(LOOK_NOW, TIME_LUA) },
  ],
});
