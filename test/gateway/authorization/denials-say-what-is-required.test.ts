import { expect, it } from 'vitest'
import type { WrittenPolicy, WrittenRule } from '../../policy/policy-builder.ts'
import { useSharedGateway } from '../support/running-gateway.ts'

const deny = (rule: Partial<WrittenRule>): WrittenRule => ({
  id: 'no',
  effect: 'deny',
  subjects: { everyone: true },
  operations: ['change'],
  ...rule,
})
const reading = [allow('loader', ['read'])]
const committing = [allow('loader', ['read', 'commit']), allow('blind', ['CreateTableVersion'])]
const reason = 'state a reason in x-catalog-ctx-reason'
const message = 'ask ada'

/** What a denied commit of `loader` says; undefined for nothing. */
const denials: readonly (readonly [
  name: string,
  policy: Omit<WrittenPolicy, 'name' | 'namespace'>,
  says: string | undefined,
])[] = [
  [
    'metadata',
    { commits: { metadata: ['ticket', 'author'] }, rules: committing },
    'a new version must have the metadata ticket, author',
  ],
  [
    'folders',
    { commits: { folders: ['lake/secret'] }, rules: committing },
    'data may be in some folders only; decided by the manifest path "lake/t/_versions/7"',
  ],
  [
    'a-deny',
    {
      rules: [...committing, deny({ when: 'now < timestamp("2999-01-01T00:00:00Z")', message: 'frozen' })],
    },
    'frozen',
  ],
  ['a-deny-without-message', { rules: [...committing, deny({})] }, undefined],
  [
    'an-allow-with-a-condition',
    {
      rules: [...reading, { ...allow('loader', ['commit']), when: 'context.reason != ""', message: reason }],
    },
    reason,
  ],
  [
    'an-allow-of-another-branch',
    { rules: [...reading, { ...allow('loader', ['commit']), when: 'branch == "ci"' }] },
    'decided by the branch "main"',
  ],
  [
    'a-deny-of-the-branch',
    { rules: [...committing, deny({ when: 'branch == "main"', message: 'use a branch' })] },
    'use a branch; decided by the branch "main"',
  ],
  [
    'an-allow-that-ended',
    { rules: [...reading, { ...allow('loader', ['commit']), until: '2020-01-01T00:00:00Z', message }] },
    message,
  ],
  [
    'an-allow-for-others',
    { rules: [...reading, { ...allow('blind', ['commit']), when: 'branch == "ci"', message }] },
    undefined,
  ],
  [
    'an-allow-of-another-table',
    {
      rules: [
        ...reading,
        { ...allow('loader', ['commit']), tables: ['other'], when: 'branch == "ci"', message },
      ],
    },
    undefined,
  ],
  [
    'an-allow-of-another-operation',
    { rules: [...reading, { ...allow('loader', ['write']), when: 'branch == "ci"', message }] },
    undefined,
  ],
  [
    'an-allow-beside-a-deny',
    {
      rules: [
        ...reading,
        { ...allow('loader', ['commit']), when: 'branch == "ci"', message },
        deny({ message: 'never' }),
      ],
    },
    'never',
  ],
]

const shared = useSharedGateway({
  users: ['loader', 'blind'],
  policies: [
    ...denials.map(([name, policy]) => ({ name, namespace: [name], onDeny: 403 as const, ...policy })),
    {
      name: 'above',
      namespace: ['above'],
      onDeny: 403,
      final: ['DropTable'],
      rules: [...reading, { ...allow('loader', ['commit']), when: 'branch == "ci"', message }],
    },
    { name: 'closed', namespace: ['above', 'closed'], inherit: false, rules: reading },
    {
      name: 'reserved',
      namespace: ['above', 'open'],
      rules: [{ ...allow('loader', ['DropTable']), when: 'branch == "ci"', message }],
    },
    { name: 'prod', namespace: ['prod'], rules: [allow('loader', ['read', 'drop'])] },
    {
      name: 'hidden',
      namespace: ['prod', 'hidden'],
      inherit: false,
      contact: 'the hidden team',
      rules: [
        deny({ message: 'quiet' }),
        { ...allow('loader', ['commit']), when: 'branch == "ci"', message },
      ],
    },
  ],
})

function allow(user: string, operations: readonly string[]): WrittenRule {
  return { id: `${user}-${operations.join('-')}`, effect: 'allow', subjects: { users: [user] }, operations }
}

async function commit(namespace: string, as: string) {
  const { status, json } = await shared.gateway.post(`/v1/table/${namespace}$t/version/create`, {
    as,
    body: { version: 7, manifest_path: 'lake/t/_versions/7' },
  })
  return { status, detail: (json as { detail?: string }).detail }
}

const knowing = (says: string | undefined): string =>
  ['authenticated as loader', ...(says === undefined ? [] : [says])].join('; ')

it.each(denials)('what a caller reads that is denied by %s', async (name, _, says) => {
  expect(await commit(name, 'loader')).toEqual({ status: 403, detail: knowing(says) })
})

it.each(denials.filter(([, , says]) => says !== undefined))(
  '%s says nothing to a caller that may not know of the table',
  async (name) => {
    expect(await commit(name, 'blind')).toEqual({ status: 403, detail: 'authenticated as blind' })
  },
)

it('an allow says nothing where it would not decide either', async () => {
  expect(await commit('above$beneath', 'loader')).toEqual({
    status: 403,
    detail: knowing(`${message}; decided by the branch "main"`),
  })
  expect(await commit('above$closed', 'loader')).toEqual({ status: 403, detail: knowing(undefined) })
  const dropped = await shared.gateway.post('/v1/table/above$open$t/drop', { as: 'loader', body: {} })
  expect(dropped).toMatchObject({ status: 403, json: { detail: knowing(undefined) } })
})

it('a concealed object shows no message', async () => {
  expect(await commit('prod$hidden', 'loader')).toEqual({ status: 404, detail: undefined })
})

it('a deny beneath a namespace says nothing to a caller that may not know what is beneath', async () => {
  const response = await shared.gateway.post('/v1/namespace/prod/drop', {
    as: 'loader',
    body: { behavior: 'Cascade' },
  })
  expect(response).toMatchObject({ status: 403, json: { detail: 'authenticated as loader' } })
})
