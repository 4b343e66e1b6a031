/** Inputs of `import`: manifests of other tools. */

/** From the documentation of the runner, with fields that people add. */
export const DEPLOYMENT = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: act-runner, namespace: ci}
spec:
  replicas: 3
  selector: {matchLabels: {app: act-runner}}
  template:
    metadata: {labels: {app: act-runner}}
    spec:
      nodeSelector: {pool: ci}
      tolerations: [{key: ci, operator: Exists}]
      imagePullSecrets: [{name: pull}]
      serviceAccountName: ci
      securityContext: {fsGroup: 1000}
      volumes:
        - {name: runner-data, persistentVolumeClaim: {claimName: act-runner-vol}}
        - {name: docker-certs, emptyDir: {}}
      containers:
        - name: runner
          image: gitea/act_runner:nightly
          env:
            - {name: DOCKER_HOST, value: tcp://localhost:2376}
            - {name: GITEA_INSTANCE_URL, value: http://gitea-http.gitea.svc.cluster.local:3000}
            - {name: GITEA_RUNNER_LABELS, value: 'ubuntu-latest:docker://node:20, gpu'}
            - {name: GITEA_RUNNER_REGISTRATION_TOKEN, valueFrom: {secretKeyRef: {name: runner-secret, key: token}}}
            - {name: TZ, value: Europe/Berlin}
          resources: {requests: {cpu: 500m}}
        - name: daemon
          image: docker:23.0.6-dind
          securityContext: {privileged: true}
`;

export const SCALED_JOB = `
apiVersion: keda.sh/v1alpha1
kind: ScaledJob
metadata: {name: forgejo-job, namespace: ci}
spec:
  maxReplicaCount: 7
  jobTargetRef:
    template:
      spec:
        containers:
          - name: runner
            image: gitea/act_runner:0.2.11-dind-rootless
            env:
              - {name: GITEA_INSTANCE_URL, value: https://gitea.example.com}
              - {name: GITEA_RUNNER_REGISTRATION_TOKEN, value: plain-token}
  triggers:
    - type: forgejo-runner
      metadata: {name: x, address: https://gitea.example.com, owner: acme, repo: web, labels: ubuntu-latest}
`;

/** An object as `kubectl get -o yaml` prints it. */
export const OPERATOR = `
apiVersion: v1
kind: List
items:
  - apiVersion: gitea.bpg.pw/v1alpha1
    kind: RunnerGroup
    metadata: {name: ci, namespace: runners, uid: 1-2, managedFields: []}
    spec:
      scope: org
      org: acme
      giteaURL: https://gitea.example.com
      maxActiveRunners: 5
      registrationToken: {name: reg, key: token}
      authToken: {name: api, key: token}
    status: {activeRunners: 2}
`;
