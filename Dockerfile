# The image of argocd-gitea-runners: the sidecar of Argo CD's repo-server, and serve.
#
#   docker build -t registry.example.com/argocd-gitea-runners:0.1.0 .
#
# Without a registry: node scripts/image.mjs --out image.tar makes the same from npm's Node and Debian's libraries.
#
# Pin both base images by digest for your own builds, e.g. --build-arg NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:…
# (docker buildx imagetools inspect NAME shows it). No digest stands here, because this file was not built where it was written.
ARG NODE_IMAGE=docker.io/library/node:24.21.0-bookworm-slim
# glibc, libstdc++, CA certificates; no shell, no package manager. Same Debian as above: node's and tini's libraries fit.
ARG BASE_IMAGE=gcr.io/distroless/cc-debian12

FROM ${NODE_IMAGE} AS build
# The package also has tini-static, which needs nothing of the image it goes to.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends tini \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# Packages change less often than sources. No scripts of packages are run.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY scripts/build.mjs scripts/code-cache.mjs scripts/
COPY imports/ imports/
COPY src/ src/
RUN npm run build
COPY install/plugin.yaml install/
# Everything that is ours, as it will lie in the image.
RUN mkdir -p /out/opt/gitea-runners /out/usr/local/bin /out/usr/bin /out/home/argocd/cmp-server/config \
      /out/home/argocd/cmp-server/plugins /out/etc \
 # The program and its parts; their code caches are made by the Node that will load them.
 && (cd lib && install -m 0644 gitea-runners.cjs generate.cjs validate.cjs cli.cjs documents.cjs proxied.cjs *.cache /out/opt/gitea-runners/) \
 && printf '%s\n' '#!/usr/local/bin/node' "require('/opt/gitea-runners/gitea-runners.cjs');" > /out/usr/local/bin/gitea-runners \
 && chmod 0755 /out/usr/local/bin/gitea-runners \
 && install -m 0755 /usr/local/bin/node /out/usr/local/bin/node \
 && install -m 0755 /usr/bin/tini-static /out/usr/bin/tini \
 && install -m 0644 install/plugin.yaml /out/home/argocd/cmp-server/config/ \
 && printf '%s\n' 'root:x:0:0:root:/:/sbin/nologin' 'argocd:x:999:999::/home/argocd:/sbin/nologin' > /out/etc/passwd \
 && printf '%s\n' 'root:x:0:' 'argocd:x:999:' > /out/etc/group \
 # It must start as the user that will run it, before it goes anywhere.
 && setpriv --reuid=999 --regid=999 --clear-groups /out/usr/local/bin/node /out/opt/gitea-runners/gitea-runners.cjs --version

FROM ${BASE_IMAGE}
COPY --from=build /out/ /
ENV PATH=/usr/local/bin:/usr/bin:/bin NODE_ENV=production
WORKDIR /home/argocd
# User argocd of Argo CD's own image, by number: Kubernetes' runAsNonRoot cannot check a name.
USER 999:999
ENTRYPOINT ["/usr/bin/tini", "--", "/usr/local/bin/gitea-runners"]
CMD ["--help"]
