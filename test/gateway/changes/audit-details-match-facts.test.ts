import { expect, it } from 'vitest'
import type { Details } from '../../../src/audit/records/audit-record.ts'
import { recordsOf } from '../../audit/audit-fixtures.ts'
import { respondWith } from '../support/recording-upstream.ts'
import { useSharedGateway } from '../support/running-gateway.ts'
import { arrowUpload } from '../../support/arrow-upload.ts'

const shared = useSharedGateway()

/** The last intent in the log. */
async function lastIntent() {
  return (await shared.gateway.recorded('intent')).at(-1)
}

const properties = { env: 'prod', token: 'a-secret' }
const arrow = arrowUpload

it.each<
  [what: string, target: string, body: object | string, headers: Record<string, string>, details: Details]
>([
  [
    'CreateTable with headers',
    'create?mode=ExistOk',
    arrow,
    { 'x-catalog-table-location': 's3://b/t', 'x-catalog-table-properties': JSON.stringify(properties) },
    { mode: 'existok', location: 's3://b/t', property_keys: ['env', 'token'] },
  ],
  [
    'MergeInsertIntoTable',
    'merge_insert?on=id&when_not_matched_by_source_delete=true',
    arrow,
    {},
    { on: ['id'], when_not_matched_by_source_delete: true },
  ],
  [
    'RenameTable',
    'rename',
    { new_table_name: 'u', new_namespace: ['old'] },
    {},
    { new_table_name: 'u', new_namespace_id: ['old'] },
  ],
  [
    'CreateTableVersion',
    'version/create',
    { version: 2, manifest_path: 't/_versions/s', metadata: { ticket: 'T-1' } },
    {},
    { version: 2, manifest_path: 't/_versions/s', metadata_keys: ['ticket'] },
  ],
])('the record of %s contains the authorized facts, and no others', async (...row) => {
  const [, target, body, headers, details] = row
  const response = await shared.gateway.post(`/v1/table/orders/${target}`, { body, headers })
  expect(response).toMatchObject({ status: 200 })
  expect((await lastIntent())?.details ?? {}).toEqual(details)
})

const hash = expect.stringMatching(/^hmac-sha256:/) as string

it.each<[what: string, target: string, body: object, details: Details]>([
  [
    'AlterTableBackfillColumns',
    'table/orders/backfill_column',
    { column: 'total', where: "customer = 'planted'" },
    { column: 'total', where: hash },
  ],
  [
    'CreateMaterializedView',
    'materialized_view/big/create',
    { query: "SELECT * FROM orders WHERE customer = 'planted'" },
    { query: hash },
  ],
])('the record of %s contains what it does, and its SQL as a hash', async (_what, target, body, details) => {
  shared.upstream.handler = respondWith(202, { job_id: 'job-1' })
  expect(await shared.gateway.post(`/v1/${target}`, { body })).toMatchObject({ status: 202 })
  expect((await lastIntent())?.details).toEqual(details)
  expect(JSON.stringify(await recordsOf(shared.gateway.auditFolder))).not.toContain('planted')
})
