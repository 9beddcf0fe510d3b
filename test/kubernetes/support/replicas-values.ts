/** Values of a release with two gateways, which drain for a shorter time than by default. */
export const replicas = {
  replicaCount: 2,
  pageTokens: { existingSecret: 'page-tokens' },
  config: { timeouts: { drainDelayMs: 3_000 } },
} as const
