/** What a request of a client may have that the operations table lacks, by the kind of it. */
export type RequestPart = 'routes' | 'members' | 'parameters' | 'headers' | 'features'

/** What the newest client of LanceDB sends and the gateway refuses, with the reason. */
export const refusedRequests: Readonly<Record<RequestPart, Readonly<Record<string, string>>>> = {
  routes: {},
  members: {},
  parameters: {},
  headers: {
    'x-azure-storage-account-name': 'storage is what the upstream is configured for',
    'x-lancedb-user-id': 'it identifies a caller who did not authenticate so',
  },
  features: {},
}
