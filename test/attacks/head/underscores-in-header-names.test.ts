import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Servers that pass headers as variables read `x_api_key` as `x-api-key`, which no check has seen.
const attacked = attackedGateway()

it.each([
  ['x_api_key', 'x-api-key'],
  ['X_API-Key', 'x-api-key'],
  ['content_length', 'content-length'],
  ['transfer_encoding', 'transfer-encoding'],
  ['content_type', 'content-type'],
  ['x_request_id', 'x-request-id'],
  ['x_lancedb_database', 'x-lancedb-database'],
  ['x_catalog_ctx_gateway-principal', 'x-catalog-ctx-gateway-principal'],
  ['x-catalog_ctx-a', 'x-catalog-ctx-a'],
  ['x_catalog_table_location', 'x-catalog-table-location'],
  ['x_lance_table_location', 'x-lance-table-location'],
  ['x_lance_ctx_gateway', 'x-lance-ctx-gateway'],
])('%s, which resembles %s, is rejected', async (name, meant) => {
  await attacked.expectRefused(
    { lines: [`${name}: 1`] },
    { kind: 'InvalidInput', says: `"${name.toLowerCase()}" is ambiguous with "${meant}"` },
  )
})
