import { expect, it } from 'vitest'
import { listKeyChanges } from '../../../src/identity/api-keys/key-changes.ts'
import type { StoredKey } from '../../../src/identity/api-keys/key-store-file.ts'

const time = '2026-01-01T00:00:00Z'
const key: StoredKey = {
  id: 'k',
  hash: 'hash',
  principal: 'ada',
  groups: ['writers', 'readers'],
  createdAt: time,
  expiresAt: '2026-02-01T00:00:00Z',
  createdBy: 'root',
}

const reading = (one: StoredKey | undefined): readonly StoredKey[] => (one === undefined ? [] : [one])

const ada = { key: 'k', principal: 'ada' }

it.each<[string, StoredKey | undefined, StoredKey | undefined, readonly unknown[]]>([
  [
    'nothing',
    key,
    { ...key, groups: ['readers', 'writers'], expiresAt: '2026-02-01T01:00:00.000+01:00', description: 'x' },
    [],
  ],
  ['a created key', undefined, key, [{ change: 'created', ...ada, by: 'root' }]],
  ['one without an actor', undefined, { ...key, createdBy: undefined }, [{ change: 'created', ...ada }]],
  [
    'a successor',
    undefined,
    { ...key, replaces: 'old' },
    [{ change: 'rotated', ...ada, by: 'root', replaces: 'old' }],
  ],
  [
    'a revoked key',
    key,
    { ...key, revokedAt: time, revokedBy: 'eve' },
    [{ change: 'revoked', ...ada, by: 'eve' }],
  ],
  [
    'a key that was created and revoked',
    undefined,
    { ...key, revokedAt: time },
    [
      { change: 'created', ...ada, by: 'root' },
      { change: 'revoked', ...ada },
    ],
  ],
  ['a removed key', key, undefined, [{ change: 'removed', ...ada }]],
  [
    'a revocation that was undone',
    { ...key, revokedAt: time },
    key,
    [{ change: 'changed', ...ada, members: ['revokedAt'] }],
  ],
  [
    'every other member',
    key,
    {
      ...key,
      hash: 'other',
      principal: 'bob',
      groups: ['admins'],
      subject: 'corp:bob',
      notBefore: time,
      expiresAt: undefined,
    },
    [
      {
        change: 'changed',
        key: 'k',
        principal: 'bob',
        members: ['hash', 'principal', 'groups', 'subject', 'notBefore', 'expiresAt'],
      },
    ],
  ],
  [
    'a further group',
    key,
    { ...key, groups: ['writers', 'readers', 'admins'] },
    [{ change: 'changed', ...ada, members: ['groups'] }],
  ],
])('lists %s', async (_, before, after, changes) => {
  expect(await listKeyChanges(reading(before), reading(after))).toEqual(changes)
})
