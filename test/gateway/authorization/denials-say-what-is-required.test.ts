import { expect, it } from 'vitest'
import type { WrittenRequirement, WrittenRule } from '../../policy/policy-builder.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const requirements: readonly (readonly [
  name: string,
  requirement: Omit<WrittenRequirement, 'id'>,
  says: string,
])[] = [
  ['metadata', { metadata: ['ticket', 'author'] }, 'a new version must have the metadata ticket, author'],
  ['folders', { folders: ['lake/secret'] }, 'data may be in some folders only'],
  ['branches', { branches: ['secret/*'] }, 'changes are allowed on some branches only'],
  ['not-branches', { notBranches: ['main'] }, 'changes are allowed on some branches only'],
  [
    'freeze',
    { freeze: { from: '2020-01-01T00:00:00Z', until: '2999-01-01T00:00:00Z' } },
    'changes are frozen until 2999-01-01T00:00:00.000Z',
  ],
  ['freeze-without-end', { freeze: { from: '2020-01-01T00:00:00Z' } }, 'changes are frozen'],
]

const shared = useSharedGateway({
  users: ['loader', 'blind'],
  policies: [
    ...requirements.map(([name, requirement]) => ({
      name,
      namespace: [name],
      onDeny: 403 as const,
      commits: { require: [{ id: 'demand', ...requirement }] },
      rules: [allow('loader', ['read', 'commit']), allow('blind', ['CreateTableVersion'])],
    })),
    { name: 'prod', namespace: ['prod'], rules: [allow('loader', ['read', 'drop'])] },
    {
      name: 'hidden',
      namespace: ['prod', 'hidden'],
      inherit: false,
      contact: 'the hidden team',
      commits: { require: [{ id: 'quiet', freeze: {} }] },
      rules: [],
    },
  ],
})

function allow(user: string, operations: readonly string[]): WrittenRule {
  return { id: user, effect: 'allow', subjects: { users: [user] }, operations }
}

async function commit(namespace: string, as: string): Promise<unknown> {
  const { status, json } = await shared.gateway.post(`/v1/table/${namespace}$t/version/create`, {
    as,
    body: { version: 7, manifest_path: 'lake/t/_versions/7' },
  })
  expect(status).toBe(403)
  return (json as { detail?: string }).detail
}

it.each(requirements)(
  'a denial by the requirement %s says what a change must meet',
  async (name, _, says) => {
    expect(await commit(name, 'loader')).toBe(`authenticated as loader; ${says}`)
  },
)

it.each(requirements)('%s is not told to a caller that may not know of the table', async (name) => {
  expect(await commit(name, 'blind')).toBe('authenticated as blind')
})

it('a freeze beneath a namespace is not told to a caller that may not know what is beneath', async () => {
  const response = await shared.gateway.post('/v1/namespace/prod/drop', {
    as: 'loader',
    body: { behavior: 'Cascade' },
  })
  expect(response).toMatchObject({ status: 403, json: { detail: 'authenticated as loader' } })
})
