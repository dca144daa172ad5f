# The service with SQLite or PostgreSQL. Two stages: what builds stays behind; nothing runs as root.
FROM python:3.12.8-slim-bookworm AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY conquer conquer
RUN python3 -m venv /opt/conquer
RUN /opt/conquer/bin/pip install --no-cache-dir -c constraints.txt ".[postgres]"

FROM python:3.12.8-slim-bookworm
RUN useradd --uid 10001 --create-home conquer && install -d -o conquer /data
COPY --from=build /opt/conquer /opt/conquer
ENV PATH=/opt/conquer/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    CONQUER_HOST=0.0.0.0 \
    CONQUER_PORT=8000 \
    CONQUER_STORE=sqlite:////data/conquer.db
USER conquer
WORKDIR /data
# Machine code is made here, once, so that no first request is slow.
RUN /opt/conquer/bin/conquer warmup
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
    CMD ["/opt/conquer/bin/python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/readyz', timeout=2)"]
CMD ["/opt/conquer/bin/conquer", "serve"]
