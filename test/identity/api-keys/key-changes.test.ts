import { expect, it } from 'vitest'
import { runAtOnce } from '../../../src/lib/async/run-in-slices.ts'
import { listKeyChanges, type ComparableKey } from '../../../src/identity/api-keys/key-changes.ts'

const key: ComparableKey = {
  hash: 'hash',
  principal: 'ada',
  groups: new Set(['writers']),
  subject: undefined,
  isRevoked: false,
  notBefore: undefined,
  expiresAt: 2,
  createdBy: 'root',
  revokedBy: undefined,
  replaces: undefined,
}

function reading(one: ComparableKey | undefined): Map<string, ComparableKey> {
  return new Map(one === undefined ? [] : [['k', one]])
}

const ada = { key: 'k', principal: 'ada' }

it.each<[string, ComparableKey | undefined, ComparableKey | undefined, readonly unknown[]]>([
  ['nothing', key, { ...key, groups: new Set(key.groups) }, []],
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
    { ...key, isRevoked: true, revokedBy: 'eve' },
    [{ change: 'revoked', ...ada, by: 'eve' }],
  ],
  [
    'a key that was created and revoked',
    undefined,
    { ...key, isRevoked: true },
    [
      { change: 'created', ...ada, by: 'root' },
      { change: 'revoked', ...ada },
    ],
  ],
  ['a removed key', key, undefined, [{ change: 'removed', ...ada }]],
  [
    'a revocation that was undone',
    { ...key, isRevoked: true },
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
      groups: new Set(['admins']),
      subject: 'corp:bob',
      notBefore: 0,
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
    { ...key, groups: new Set(['writers', 'admins']) },
    [{ change: 'changed', ...ada, members: ['groups'] }],
  ],
])('lists %s', (_, before, after, changes) => {
  expect(runAtOnce(listKeyChanges(reading(before), reading(after)))).toEqual(changes)
})
