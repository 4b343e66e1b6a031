import { STALE_CHECK_MS } from '../src/config/runnergroup/status.ts';

/**
 * How Argo CD shows a RunnerGroup. Lua 5.1, as Argo CD runs it: without `string`, and with `time` and `date` of `os` behind `require`
 * (Argo CD `util/lua/oslib_safe.go`; run on 3.5.3). The text is part of argocd-cm.
 *
 *   Degraded     annotation gitea.bpg.pw/problem (a stand-in, docs/adr/0036), or condition Ready is False: its reason and message
 *   Suspended    spec.suspend, or annotation gitea.bpg.pw/suspended (packaging/actions.ts)
 *   Progressing  serve has not looked yet (no status)
 *   Degraded     nobody has looked for minutes: serve is dead (docs/adr/0041). Two times in UTC compare as strings. The limit goes
 *                through the local time and back, because `os.date` formats any other time than "now" as local time
 *   Progressing  Ready is Unknown
 *   Healthy      otherwise
 */
export const HEALTH_LUA = `local ready = nil
if obj.status ~= nil and obj.status.conditions ~= nil then
  for _, condition in ipairs(obj.status.conditions) do
    if condition.type == "Ready" then
      ready = condition
    end
  end
end
local annotations = obj.metadata ~= nil and obj.metadata.annotations or nil
if annotations ~= nil and annotations["gitea.bpg.pw/problem"] ~= nil then
  local problem = annotations["gitea.bpg.pw/problem"]
  local reason = (annotations["gitea.bpg.pw/problem-reason"] or "InvalidSpec") .. ": "
  return {status = "Degraded", message = reason .. problem}
end
if ready ~= nil and ready.status == "False" then
  return {status = "Degraded", message = (ready.reason or "NotReady") .. ": " .. (ready.message or "")}
end
if annotations ~= nil and annotations["gitea.bpg.pw/suspended"] ~= nil then
  return {status = "Suspended", message = "No new runners: suspended in the cluster: " .. annotations["gitea.bpg.pw/suspended"]}
end
if obj.spec ~= nil and obj.spec.suspend == true then
  return {status = "Suspended", message = "No new runners: spec.suspend is true"}
end
if ready == nil then
  return {status = "Progressing", message = "Waiting for gitea-runners serve"}
end
local os = require("os")
local checked = obj.status.lastCheckTime
local limit = os.date("%Y-%m-%dT%H:%M:%SZ", os.time(os.date("!*t")) - ${STALE_CHECK_MS / 1000})
if checked ~= nil and checked < limit then
  return {status = "Degraded", message = "NotChecked: nobody has looked at Gitea since " .. checked .. ": is gitea-runners serve running?"}
end
if ready.status ~= "True" then
  return {status = "Progressing", message = ready.message or ""}
end
return {status = "Healthy", message = ready.message or ""}
`;
