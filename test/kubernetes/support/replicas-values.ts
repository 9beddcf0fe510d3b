/** Values of a release with two gateways. */
export const replicas = {
  replicaCount: 2,
  pageTokens: { existingSecret: 'page-tokens' },
} as const
