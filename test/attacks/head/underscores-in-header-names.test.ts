import { it } from 'vitest'
import { attackedGateway } from '../support/attacked-gateway.ts'

// Servers that pass headers as variables read `x_api_key` as `x-api-key`, which no check has seen.
const attacked = attackedGateway()

it.each([
  ['x_api_key', 'x-api-key'],
  ['X_API-Key', 'x-api-key'],
  ['content_length', 'content-length'],
  ['transfer_encoding', 'transfer-encoding'],
  ['x_request_id', 'x-request-id'],
  ['x_lancedb_database', 'x-lancedb-database'],
  ['x_catalog_ctx_gateway-principal', 'x-catalog-ctx-gateway-principal'],
  ['x_catalog_table_location', 'x-catalog-table-location'],
])('%s, which resembles %s, is rejected', async (name, meant) => {
  await attacked.expectInvalid(
    { lines: [`${name}: 1`] },
    `"${name.toLowerCase()}" is ambiguous with "${meant}"`,
  )
})
