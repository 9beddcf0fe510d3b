import { expect, it } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { expectError } from '../support/expect-error.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

/** `ann` may list and read `open`, but not its table `vault`; `hr` below it is invisible to her. */
const shared = useSharedGateway({
  users: ['ann'],
  policies: [
    {
      name: 'open',
      namespace: ['open'],
      rules: [
        { id: 'reads', effect: 'allow', subjects: { users: ['ann'] }, operations: ['read', 'DropNamespace'] },
        { id: 'no-vault', effect: 'deny', subjects: { any: true }, operations: ['all'], tables: ['vault'] },
      ],
    },
    { name: 'hr', namespace: ['open', 'hr'], inherit: false, rules: [] },
    {
      name: 'told',
      namespace: ['told'],
      onDeny: 403,
      rules: [],
    },
    {
      name: 'secretive',
      namespace: ['open', 'secretive'],
      onDeny: 404,
      rules: [{ id: 'drops', effect: 'allow', subjects: { users: ['dev'] }, operations: ['DropNamespace'] }],
    },
  ],
})

const namespaceNotFound = (id: string) =>
  ({ kind: 'NamespaceNotFound', says: `^there is no namespace "${id.replaceAll('$', '\\$')}"$` }) as const
const tableNotFound = (id: string) =>
  ({ kind: 'TableNotFound', says: `^there is no table "${id.replaceAll('$', '\\$')}"$` }) as const
const missing = (kind: 'function' | 'secret') =>
  ({ kind: 'TableNotFound', says: `^there is no ${kind} "open\\$one"$` }) as const
const refused = (what: string) =>
  ({ kind: 'PermissionDenied', says: `^you are not allowed ${what}` }) as const

it.each([
  ['/v1/table/open$orders/drop', refused(String.raw`DropTable on "open\$orders"`)],
  ['/v1/table/open$vault/describe', tableNotFound('open$vault')],
  ['/v1/function/open$one/describe', missing('function')],
  ['/v1/secret/open$one/describe', missing('secret')],
  ['/v1/namespace/open$hr/describe', namespaceNotFound('open$hr')],
  ['/v1/namespace/open$hr$new/create', namespaceNotFound('open$hr')],
  ['/v1/table/open$hr$salaries/describe', namespaceNotFound('open$hr')],
  ['/v1/table/elsewhere$orders/describe', namespaceNotFound('elsewhere')],
  ['/v1/table/told$orders/describe', refused('DescribeTable')],
  ['/v1/table/open$secretive$orders/drop', namespaceNotFound('open$secretive')],
  [
    '/v1/transaction/open$hr$salaries$7/describe',
    { kind: 'TransactionNotFound', says: /^there is no transaction "7"/ },
  ],
  ['/v1/namespace/$/describe', refused('DescribeNamespace on the root')],
] as const)('conceals what the caller cannot see, and nothing else: %s', async (target, expected) => {
  expectError(await shared.gateway.post(target, { as: 'ann', body: {} }), expected)
  expect(shared.upstream.requests).toEqual([])
})

it('conceals nothing from a caller that may call the operation, and lacks a permission beneath', async () => {
  const target = '/v1/namespace/open$secretive/drop'
  const dropped = await shared.gateway.post(target, { as: 'dev', body: { behavior: 'Cascade' } })
  expectError(dropped, refused(String.raw`DropTable \(behavior Cascade\) on "open\$secretive"`))
})

it('conceals a table in a batch and the destination of a rename as in other requests', async () => {
  const entry = { id: ['open', 'vault'], version: 2, manifest_path: 'x/_versions/staging' }
  const batch = await shared.gateway.post('/v1/table/version/batch-create', {
    as: 'ann',
    body: { entries: [entry] },
  })
  expectError(batch, tableNotFound('open$vault'))
})

it('records the actual denial with its rule in the audit log, and no intent', async () => {
  const response = await shared.gateway.post('/v1/table/open$vault/drop', { as: 'ann' })
  const id = response.headers['x-request-id']
  await eventually(async () =>
    expect(await shared.gateway.recorded('refusal')).toContainEqual(
      expect.objectContaining({
        request: id,
        status: 404,
        reason: 'denied',
        operation: 'DropTable',
        id: ['open', 'vault'],
        principal: expect.objectContaining({ name: 'ann' }) as object,
        rule: expect.objectContaining({ policy: 'open', rule: 'no-vault' }) as object,
        details: { needs: 'DropTable on "open$vault"' },
      }),
    ),
  )
  expect(await shared.gateway.recorded('intent')).toEqual([])
})
