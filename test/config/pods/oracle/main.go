// The real thing, asked line by line: Kubernetes' own code judges what src/config/pods judges.
//
// Every line of standard input is one question in JSON, every line of standard output its answer:
//
//	{"do": "merge", "base": T, "patch": T}        -> {"result": T} or {"error": "..."}     k8s.io/apimachinery, util/strategicpatch
//	{"do": "security", "pod": T}                  -> {"baseline": [...], "restricted": [...]}  k8s.io/pod-security-admission, policy
//	{"do": "rules"}                               -> [ids of all checks]
//	{"do": "validate", "pod": T}                  -> {"unknown": [...], "faults": [...]}   k8s.io/kubernetes, apis/core/validation
//
// T is a PodTemplateSpec. It is built in the module of test/servers/go/k8s, so that there is one version of Kubernetes.
package main

import (
	"bufio"
	"encoding/json"
	"os"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/capabilities"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	kjson "sigs.k8s.io/json"
)

type question struct {
	Do    string          `json:"do"`
	Base  json.RawMessage `json:"base"`
	Patch json.RawMessage `json:"patch"`
	Pod   json.RawMessage `json:"pod"`
}

func main() {
	// As kube-apiserver --allow-privileged does.
	capabilities.Initialize(capabilities.Capabilities{AllowPrivileged: true})
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	answers := json.NewEncoder(os.Stdout)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var q question
		if err := json.Unmarshal(line, &q); err != nil {
			panic(err)
		}
		if err := answers.Encode(answer(q)); err != nil {
			panic(err)
		}
	}
}

func answer(q question) any {
	switch q.Do {
	case "merge":
		result, err := strategicpatch.StrategicMergePatch(q.Base, q.Patch, corev1.PodTemplateSpec{})
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return map[string]any{"result": json.RawMessage(result)}
	case "rules":
		ids := []string{}
		for _, check := range policy.DefaultChecks() {
			ids = append(ids, string(check.ID))
		}
		sort.Strings(ids)
		return ids
	case "security":
		return security(q)
	case "validate":
		return validate(q)
	}
	panic("unknown question " + q.Do)
}

type broken struct {
	Rule   policy.CheckID `json:"rule"`
	Detail string         `json:"detail"`
}

// Every check on its own, and the evaluator's own verdict besides: it alone knows which baseline checks a restricted one replaces.
func security(q question) any {
	pod, unknown := decode(q.Pod)
	if len(unknown) > 0 {
		return map[string]any{"unknown": unknown}
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks())
	if err != nil {
		panic(err)
	}
	version := api.MajorMinorVersion(1, 34)
	out := map[string]any{}
	for _, level := range []api.Level{api.LevelBaseline, api.LevelRestricted} {
		verdict := policy.AggregateCheckResults(
			evaluator.EvaluatePod(api.LevelVersion{Level: level, Version: version}, &pod.ObjectMeta, &pod.Spec))
		replaced := map[policy.CheckID]bool{}
		rules := []broken{}
		checks := policy.DefaultChecks()
		if level == api.LevelRestricted {
			for _, check := range checks {
				for _, id := range check.Versions[len(check.Versions)-1].OverrideCheckIDs {
					replaced[id] = true
				}
			}
		}
		for _, check := range checks {
			if replaced[check.ID] || (level == api.LevelBaseline && check.Level != level) {
				continue
			}
			result := check.Versions[len(check.Versions)-1].CheckPod(&pod.ObjectMeta, &pod.Spec)
			if !result.Allowed {
				rules = append(rules, broken{check.ID, result.ForbiddenDetail})
			}
		}
		if verdict.Allowed != (len(rules) == 0) || len(verdict.ForbiddenReasons) != len(rules) {
			panic("the checks and the evaluator disagree: " + verdict.ForbiddenDetail())
		}
		sort.Slice(rules, func(i, j int) bool { return rules[i].Rule < rules[j].Rule })
		out[string(level)] = rules
	}
	return out
}

// Of Kubernetes' defaults the one that this check sees: a volume without a source is an emptyDir.
func decode(raw json.RawMessage) (*corev1.Pod, []string) {
	pod := &corev1.Pod{}
	strict, err := kjson.UnmarshalStrict(raw, pod)
	unknown := []string{}
	if err != nil {
		unknown = append(unknown, err.Error())
	}
	for _, err := range strict {
		unknown = append(unknown, err.Error())
	}
	for i := range pod.Spec.Volumes {
		if pod.Spec.Volumes[i].VolumeSource == (corev1.VolumeSource{}) {
			pod.Spec.Volumes[i].EmptyDir = &corev1.EmptyDirVolumeSource{}
		}
	}
	return pod, unknown
}

// What the API server does when the Job controller makes the pod: decode strictly, fill in defaults, validate.
func validate(q question) any {
	pod, unknown := decode(q.Pod)
	if len(unknown) > 0 {
		return map[string]any{"unknown": unknown, "faults": []string{}}
	}
	pod.Name, pod.Namespace = "pod", "default"
	legacyscheme.Scheme.Default(pod)
	internal := &core.Pod{}
	if err := legacyscheme.Scheme.Convert(pod, internal, nil); err != nil {
		return map[string]any{"unknown": []string{err.Error()}, "faults": []string{}}
	}
	options := podutil.GetValidationOptionsFromPodSpecAndMeta(&internal.Spec, nil, &internal.ObjectMeta, nil)
	podutil.DropDisabledPodFields(internal, nil)
	faults := []string{}
	for _, err := range validation.ValidatePodCreate(internal, options) {
		faults = append(faults, err.Error())
	}
	return map[string]any{"unknown": []string{}, "faults": faults}
}
