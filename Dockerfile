# yarntune with a Java for its embedded cluster and Spark; docs/containers.md says how it is used.
ARG PYTHON=3.12-slim-bookworm

FROM python:${PYTHON} AS build
# durable-rules comes as source.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
RUN python -m venv /opt/yarntune
# The locked versions, in a layer of its own: it changes less often than the code. Hashes are left out, since pip would
# want one for the project, too.
COPY requirements.lock pyproject.toml README.md ./
RUN sed -E '/^ +--hash/d; s/ *\\$//' requirements.lock > constraints.txt
COPY tuner tuner
COPY rules rules
COPY workloads workloads
COPY web web
RUN /opt/yarntune/bin/pip install --no-cache-dir --disable-pip-version-check -c constraints.txt '.[postgres]'

FROM python:${PYTHON}
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --user-group --no-create-home --home-dir /var/lib/yarntune --shell /usr/sbin/nologin yarntune \
    && install -d -o yarntune -g yarntune /var/lib/yarntune /var/cache/yarntune
COPY --from=build /opt/yarntune /opt/yarntune
ENV PATH=/opt/yarntune/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    NO_COLOR=1 \
    YARNTUNE_DATA_DIR=/var/lib/yarntune/data \
    YARNTUNE_STATE_DIR=/var/lib/yarntune/state \
    YARNTUNE_CACHE_DIR=/var/cache/yarntune \
    NUMBA_CACHE_DIR=/var/cache/yarntune/numba
USER yarntune
WORKDIR /var/lib/yarntune
VOLUME ["/var/lib/yarntune", "/var/cache/yarntune"]
ENTRYPOINT []
CMD ["yarntune", "doctor"]
