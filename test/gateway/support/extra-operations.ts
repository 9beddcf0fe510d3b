import type { z } from 'zod'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { withUpstream, type GatewaySetup } from './open-gateway.ts'

type WrittenOperations = NonNullable<z.input<typeof upstreamSchema>['extraOperations']>

/** Parses extra operations as the settings file declares them. */
export function readExtraOperations(written: WrittenOperations) {
  return upstreamSchema.parse({ url: 'http://catalog.example', extraOperations: written }).extraOperations
}

/** A read, two changes, one with a group, and an upload. */
export const extraOperations = readExtraOperations([
  {
    name: 'PrewarmTable',
    path: '/v1/table/{id}/file_cache/prewarm/',
    effect: 'read',
    group: 'query',
    query: { dry_run: 'boolean' },
  },
  {
    name: 'MirrorTable',
    path: '/v1/table/{id}/mirror',
    group: 'admin',
    members: ['note', 'count', 'pad'],
  },
  {
    name: 'CompactTable',
    path: '/v1/table/{id}/compact',
    query: { target_rows: 'integer' },
    members: ['note'],
  },
  { name: 'WritePart', path: '/v1/table/{id}/multipart_write/part', body: 'arrow', group: 'write' },
  { name: 'GetFileCache', method: 'GET', path: '/v1/table/{id}/file_cache', effect: 'read', body: 'none' },
])

/** A setup whose only upstream has these operations. */
export const withExtraOperations: GatewaySetup = withUpstream(() => ({ extraOperations }))
