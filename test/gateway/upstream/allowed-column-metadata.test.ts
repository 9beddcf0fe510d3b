import { Field, Int32, Schema } from 'apache-arrow'
import { expect, it } from 'vitest'
import { upstreamSchema } from '../../../src/config/upstream/upstream-settings.ts'
import { schemaStream } from '../../support/arrow-upload.ts'
import { expectError } from '../support/expect-error.ts'
import { withUpstream } from '../support/open-gateway.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const shared = useSharedGateway(
  withUpstream(() => ({
    allowedExtensionTypes: ['acme.money'],
    allowedSchemaMetadata: ['lance:acme'],
  })),
)

function create(key: string, value: string) {
  const body = schemaStream(new Schema([new Field('a', new Int32(), true, new Map([[key, value]]))]))
  return shared.gateway.post('/v1/table/orders/create', { body })
}

it('an upstream accepts the extension types and metadata that its settings name, and no others', async () => {
  expect(await create('ARROW:extension:name', 'acme.money')).toMatchObject({ status: 200 })
  expect(await create('lance:acme', '1')).toMatchObject({ status: 200 })
  shared.upstream.requests.length = 0
  expectError(await create('ARROW:extension:name', 'acme.date'), {
    kind: 'InvalidInput',
    says: 'the column "a" has the extension type "acme.date"',
  })
  expectError(await create('lance:other', '1'), { kind: 'InvalidInput', says: 'the metadata "lance:other"' })
  expect(shared.upstream.requests).toEqual([])
})

it.each([
  ['allowedExtensionTypes', 'lance.blob.v2', 'a policy that allows ReferenceData'],
  ['allowedExtensionTypes', 'arrow.uuid', 'it is always accepted'],
  ['allowedExtensionTypes', 'acme.money', 'it is listed twice'],
  ['allowedSchemaMetadata', 'pandas', 'it is always accepted'],
  ['allowedSchemaMetadata', 'lancedb:tag:a', 'it is always accepted'],
  ['allowedSchemaMetadata', 'arrow:extension:name', 'it is another spelling of ARROW:extension:name'],
])('%s cannot name %s', (setting, name, says) => {
  const names = name === 'acme.money' ? [name, name] : [name]
  const found = upstreamSchema.safeParse({ url: 'http://catalog.example', [setting]: names }).error?.issues
  expect(found).toMatchObject([
    { path: [setting, names.length - 1], message: expect.stringContaining(says) as string },
  ])
})

it('names of query parameters cannot be those that let values refer to objects', () => {
  for (const name of [
    'external_blob_mode',
    'Allow-External-Blob-Outside-Bases',
    'initialBases',
    'target_bases',
  ]) {
    const settings = { url: 'http://catalog.example', allowedQueryParameters: [name] }
    expect(upstreamSchema.safeParse(settings).success).toBe(false)
  }
})
