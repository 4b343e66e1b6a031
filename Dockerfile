# The image of argocd-gitea-runners: the sidecar of Argo CD's repo-server, and serve.
#
#   docker build -t registry.example.com/argocd-gitea-runners:0.2.0 .
#
# Without a registry: node scripts/image.mjs --out image.tar makes the same from npm's Node and Debian's libraries.
#
# The base image is pinned by digest: docker.io/library/node:24.21.0-bookworm-slim of 2026-09-19, for amd64, arm64 and ppc64le, as
# github.com/docker-library/repo-info lists it. For a newer one: --build-arg NODE_IMAGE=node:TAG@sha256:… (docker buildx imagetools
# inspect NAME shows the digest). Nothing but what this file copies goes into the image.
ARG NODE_IMAGE=docker.io/library/node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6

FROM ${NODE_IMAGE} AS build
# The package also has tini-static, which needs nothing of the image it goes to.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates tini \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# Packages change less often than sources. No scripts of packages are run.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json LICENSE ./
COPY scripts/*.mjs scripts/*.cjs scripts/train.ts scripts/
COPY imports/ imports/
COPY src/ src/
COPY demo/ demo/
COPY simulator/ simulator/
RUN npm run build
COPY install/plugin.yaml install/
# Everything that is ours, as it will lie in the image.
RUN mkdir -p /out/opt/gitea-runners /out/usr/local/bin /out/usr/bin /out/home/argocd/cmp-server/config \
      /out/home/argocd/cmp-server/plugins /out/etc \
 && install -d -m 1777 /out/tmp \
 # The program and its parts; their code caches are made by the Node that will load them.
 && (cd lib && install -m 0644 gitea-runners.cjs generate.cjs validate.cjs cli.cjs charts.cjs documents.cjs platform.cjs pods.cjs policy.cjs proxied.cjs trace.cjs tracing.cjs unseen.cjs THIRD-PARTY.txt *.cache /out/opt/gitea-runners/) \
 && install -m 0644 LICENSE /out/opt/gitea-runners/ \
 && printf '%s\n' '#!/usr/local/bin/node' "require('/opt/gitea-runners/gitea-runners.cjs');" > /out/usr/local/bin/gitea-runners \
 && chmod 0755 /out/usr/local/bin/gitea-runners \
 && install -m 0755 /usr/local/bin/node /out/usr/local/bin/node \
 && install -m 0755 /usr/bin/tini-static /out/usr/bin/tini \
 # The libraries that Node loads (glibc, libstdc++), and the CA certificates. No shell, no package manager.
 && ldd /usr/local/bin/node | sed -n 's|^[^/]*\(/[^ ]*\) (0x.*|\1|p' | xargs cp --parents --dereference --target-directory=/out \
 && cp --parents /etc/ssl/certs/ca-certificates.crt /out \
 && install -m 0644 install/plugin.yaml /out/home/argocd/cmp-server/config/ \
 && printf '%s\n' 'root:x:0:0:root:/:/sbin/nologin' 'argocd:x:999:999::/home/argocd:/sbin/nologin' > /out/etc/passwd \
 && printf '%s\n' 'root:x:0:' 'argocd:x:999:' > /out/etc/group \
 && printf '%s\n' 'passwd: files' 'group: files' 'hosts: files dns' > /out/etc/nsswitch.conf \
 # It must start in these files alone, as the user that will run it. tini -s would not start here for arm64: QEMU has no subreapers.
 && chroot --userspec=999:999 /out /usr/bin/tini -- /usr/local/bin/gitea-runners --version

FROM scratch
ARG PROJECT_URL=https://gitea.example.com/example/argocd-gitea-runners
LABEL org.opencontainers.image.title="argocd-gitea-runners" \
      org.opencontainers.image.description="Ephemeral Gitea Actions runners, autoscaled by Argo CD from Git. Scales to zero." \
      org.opencontainers.image.version="0.2.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.url="${PROJECT_URL}" \
      org.opencontainers.image.source="${PROJECT_URL}"
COPY --from=build /out/ /
ENV PATH=/usr/local/bin:/usr/bin:/bin NODE_ENV=production
WORKDIR /home/argocd
# User argocd of Argo CD's own image, by number: Kubernetes' runAsNonRoot cannot check a name.
USER 999:999
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/bin/gitea-runners"]
CMD ["--help"]
