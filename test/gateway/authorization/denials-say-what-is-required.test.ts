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

/** An allow of commits that the request does not match. */
const conditional = (rule: Partial<WrittenRule> = {}): WrittenRule => ({
  ...allow('loader', ['commit']),
  when: 'branch == "ci"',
  message,
  ...rule,
})
const frozen = { when: 'now < timestamp("2999-01-01T00:00:00Z")', message: 'frozen' }
const until = '2020-01-01T00:00:00Z'

type Denial = readonly [
  name: string,
  rules: readonly WrittenRule[],
  says?: string,
  more?: Partial<WrittenPolicy>,
]

/** What a denied commit of `loader` says; undefined for nothing. */
const denials: readonly Denial[] = [
  [
    'metadata',
    committing,
    'a new version must have the metadata ticket, author',
    { commits: { metadata: ['ticket', 'author'] } },
  ],
  [
    'folders',
    committing,
    'data may be in some folders only; decided by the manifest path "lake/t/_versions/7"',
    { commits: { folders: ['lake/secret'] } },
  ],
  ['a-deny', [...committing, deny(frozen)], 'frozen'],
  ['a-deny-without-message', [...committing, deny({})]],
  [
    'an-allow-with-a-condition',
    [...reading, conditional({ when: 'context.reason != ""', message: reason })],
    reason,
  ],
  [
    'an-allow-of-another-branch',
    [...reading, { ...allow('loader', ['commit']), when: 'branch == "ci"' }],
    'decided by the branch "main"',
  ],
  [
    'a-deny-of-the-branch',
    [...committing, deny({ when: 'branch == "main"', message: 'use a branch' })],
    'use a branch; decided by the branch "main"',
  ],
  ['an-allow-that-ended', [...reading, { ...allow('loader', ['commit']), until, message }], message],
  ['an-allow-for-others', [...reading, conditional({ subjects: { users: ['blind'] } })]],
  ['an-allow-of-another-table', [...reading, conditional({ tables: ['other'] })]],
  ['an-allow-of-another-operation', [...reading, conditional({ operations: ['write'] })]],
  ['an-allow-beside-a-deny', [...reading, conditional(), deny({ message: 'never' })], 'never'],
]

const shared = useSharedGateway({
  users: ['loader', 'blind'],
  policies: [
    ...denials.map(([name, rules, , more]) => ({
      name,
      namespace: [name],
      onDeny: 403 as const,
      rules,
      ...more,
    })),
    {
      name: 'above',
      namespace: ['above'],
      onDeny: 403,
      final: ['DropTable'],
      rules: [...reading, conditional()],
    },
    { name: 'closed', namespace: ['above', 'closed'], inherit: false, rules: reading },
    {
      name: 'reserved',
      namespace: ['above', 'open'],
      rules: [conditional({ operations: ['DropTable'] })],
    },
    {
      name: 'facts',
      namespace: ['facts'],
      onDeny: 403,
      rules: [
        allow('loader', ['all']),
        deny({ id: 'tag', operations: ['CreateTableTag'], when: 'tag == "v1"' }),
        deny({ id: 'mode', operations: ['CreateNamespace'], when: 'mode == "existok"' }),
        deny({ id: 'name', operations: ['RenameTable'], when: 'destination[1] == "u"' }),
        deny({ id: 'location', operations: ['RegisterTable'], when: 'location == "lake/t"' }),
      ],
    },
    { name: 'prod', namespace: ['prod'], rules: [allow('loader', ['read', 'drop'])] },
    {
      name: 'hidden',
      namespace: ['prod', 'hidden'],
      inherit: false,
      contact: 'the hidden team',
      rules: [deny({ message: 'quiet' }), conditional()],
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

const texts = denials.map(([name, , says]) => ({ name, says }))

it.each(texts)('what a caller reads that is denied by $name', async ({ name, says }) => {
  expect(await commit(name, 'loader')).toEqual({ status: 403, detail: knowing(says) })
})

it.each(texts.filter(({ says }) => says !== undefined))(
  '$name says nothing to a caller that may not know of the table',
  async ({ name }) => {
    expect(await commit(name, 'blind')).toEqual({ status: 403, detail: 'authenticated as blind' })
  },
)

it.each([
  ['tag "v1"', 'table/facts$t/tags/create', { tag: 'v1', version: 1 }],
  ['mode "existok"', 'namespace/facts$n/create', { mode: 'ExistOk' }],
  ['new name "facts$u"', 'table/facts$t/rename', { new_namespace_id: ['facts'], new_table_name: 'u' }],
  ['location "lake/t"', 'table/facts$t/register', { location: 'lake/t' }],
])('a deny that the %s decides says so', async (fact, path, body) => {
  const denied = await shared.gateway.post(`/v1/${path}`, { as: 'loader', body })
  expect(denied).toMatchObject({ status: 403, json: { detail: knowing(`decided by the ${fact}`) } })
})

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
