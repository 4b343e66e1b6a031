/** A podTemplate with what platform teams write, as lines of a RunnerGroup's spec. */
export const POD_TEMPLATE = `  podTemplate:
    metadata:
      labels:
        team: platform
        example.com/cost-centre: "4711"
      annotations:
        prometheus.io/scrape: "true"
        example.com/owner: Platform team
    spec:
      nodeSelector:
        accelerator: nvidia
      tolerations:
        - key: nvidia.com/gpu
          operator: Exists
          effect: NoSchedule
        - key: dedicated
          operator: Equal
          value: ci
          effect: NoExecute
      affinity:
        podAntiAffinity:
          preferredDuringSchedulingIgnoredDuringExecution:
            - weight: 50
              podAffinityTerm:
                topologyKey: kubernetes.io/hostname
                labelSelector:
                  matchLabels:
                    team: platform
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: topology.kubernetes.io/zone
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              team: platform
      imagePullSecrets:
        - name: registry
      initContainers:
        - name: warm-up
          image: registry.example.com/warm-up:1
          command: [sh, -c, "cp -r /seed/. /cache"]
          resources:
            requests: {cpu: 100m, memory: 64Mi}
          volumeMounts:
            - name: cache
              mountPath: /cache
      containers:
        - name: runner
          image: registry.example.com/runner:1.0.8
          imagePullPolicy: IfNotPresent
          env:
            - name: PIP_INDEX_URL
              value: https://pypi.example.com/simple
            - name: NPM_TOKEN
              valueFrom:
                secretKeyRef: {name: npm, key: token}
          envFrom:
            - configMapRef:
                name: ci-settings
          resources:
            requests: {cpu: 500m, memory: 2Gi}
            limits: {memory: 8Gi, nvidia.com/gpu: 1}
          volumeMounts:
            - name: cache
              mountPath: /cache
            - name: ca
              mountPath: /etc/ssl/ca
              readOnly: true
        - name: metrics
          image: registry.example.com/metrics:1
          resources:
            limits: {cpu: 100m, memory: 64Mi}
      volumes:
        - name: cache
          persistentVolumeClaim:
            claimName: cache
        - name: ca
          configMap:
            name: ca
        - name: data
          emptyDir:
            sizeLimit: 20Gi
`;
