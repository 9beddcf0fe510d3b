/** How slow and how old connections of clients may become. */
export const clientBounds = {
  /** From the start of a connection or request to the end of the request head; also for the TLS handshake. */
  headersTimeoutMs: 30_000,
  /** Between two chunks of a request body, while the gateway reads. */
  bodyTimeoutMs: 30_000,
  /** A body that takes longer than `bodyTimeoutMs` must arrive at this rate. */
  minBodyBytesPerSecond: 16 * 1024,
  /** A connection is closed if the client reads nothing of a response for this long. */
  sendTimeoutMs: 60_000,
  /** Age after which a connection is closed with its next response, minus a jitter of up to 10 %. */
  maxConnectionAgeMs: 3_600_000,
  /** Between the stop signal and the end of new connections, if `/readyz` has been asked: time for load balancers to notice. */
  drainDelayMs: 5_000,
}

/** How large JSON bodies of requests may be, besides their bytes. */
export const bodyBounds = {
  /**
   * Members and list items of a body. Numbers in lists count as a tenth each, or not at all if the gateway does not use
   * them, like those of vectors.
   */
  maxJsonValues: 50_000,
  /** Entries of a batch of table versions or changes. */
  maxBatchEntries: 1_000,
}

/**
 * How old a decision about a request may be when the upstream gets the last byte: with the time until the gateway has read
 * changed keys, a revoked one has no effect after a second.
 */
export const maxDecisionAgeMs = 500

/** How requests to an upstream wait, fail and are repeated. */
export const upstreamBounds = {
  /** Includes TLS. */
  connectTimeoutMs: 5_000,
  /** From the end of the request to the response headers; for an upload, between two chunks sent. */
  responseHeadersTimeoutMs: 300_000,
  /** Between two chunks of the response body. */
  responseBodyTimeoutMs: 60_000,
  /** A request is aborted if the client reads nothing of a streamed response for this long. */
  sendTimeoutMs: 300_000,
  /** Connections for Arrow: uploads, and results of queries. */
  maxBulkConnections: 1_024,
  /** Pending requests of each pool; one principal may have half of them. */
  maxPendingRequests: 4_096,
  /** How long a request waits for a connection. */
  queueTimeoutMs: 10_000,
  /** Consecutive failures that open the circuit. */
  consecutiveFailures: 5,
  /** Between two health checks while they fail. */
  probeIntervalMs: 1_000,
  /** Between two health checks while they pass. */
  healthCheckIntervalMs: 5_000,
  healthCheckTimeoutMs: 2_000,
}

/** Of the port of pass-through routes. */
export const passThroughBounds = {
  /** Connections of clients. */
  maxConnections: 1_024,
  /** Requests and WebSocket connections of a route; one caller may have half of them. */
  maxRequests: 256,
  /** Audited requests of one caller, ten times as many of all without an identity; those of ten seconds may come at once. */
  changesPerSecond: 20,
  responseHeadersTimeoutMs: 60_000,
}

export type ClientBounds = Readonly<typeof clientBounds>
export type BodyBounds = Readonly<typeof bodyBounds>
export type UpstreamBounds = Readonly<typeof upstreamBounds>

/** Of a request head; bearer tokens may take 16 KiB of it. */
export const maxHeadBytes = 32 * 1024
