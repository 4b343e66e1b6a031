/**
 * How Argo CD shows a RunnerGroup. Lua 5.1 without libraries, as Argo CD runs it. The text is part of argocd-cm.
 *
 *   Degraded     annotation gitea.bpg.pw/problem (a stand-in, docs/adr/0036), or condition Ready is False: its reason and message
 *   Progressing  serve has not looked yet (no status, or Ready is Unknown)
 *   Suspended    spec.suspend
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
  return {status = "Degraded", message = "InvalidSpec: " .. annotations["gitea.bpg.pw/problem"]}
end
if ready ~= nil and ready.status == "False" then
  return {status = "Degraded", message = (ready.reason or "NotReady") .. ": " .. (ready.message or "")}
end
if obj.spec ~= nil and obj.spec.suspend == true then
  return {status = "Suspended", message = "No new runners: spec.suspend is true"}
end
if ready == nil then
  return {status = "Progressing", message = "Waiting for gitea-runners serve"}
end
if ready.status ~= "True" then
  return {status = "Progressing", message = ready.message or ""}
end
return {status = "Healthy", message = ready.message or ""}
`;
