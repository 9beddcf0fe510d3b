import { expect, it } from 'vitest'
import type { AuditRecord } from '../../../src/audit/records/audit-record.ts'
import type { AuditedPrincipal, IntentEntry } from '../../../src/audit/records/audit-record.ts'
import { readRecordedCall } from '../../../src/audit/records/recorded-call.ts'
import { getOperation, type OperationName } from '../../../src/catalog-api/operations.ts'
import { replayCall, type ReplayedCall } from '../../../src/policy/analysis/replay.ts'
import { compilePolicies, type PolicySet } from '../../../src/policy/policy-set.ts'
import { anIntent } from '../../audit/intent-fixtures.ts'
import { type WrittenPolicy, type WrittenRule, parseDocuments } from '../policy-builder.ts'

const everything: WrittenRule = { id: 'all', effect: 'allow', subjects: { any: true }, operations: ['all'] }

const only = (when: string): WrittenRule => ({ ...everything, id: 'only', when })
const deny = (when: string, operations = ['all']): WrittenRule => ({
  ...everything,
  id: 'deny',
  effect: 'deny',
  operations,
  when,
})

const beneath = (rest: Partial<WrittenPolicy>): WrittenPolicy => ({
  name: 'beneath',
  namespace: ['a', 'b'],
  rules: [],
  ...rest,
})

interface Recorded extends Partial<IntentEntry> {
  readonly operation: OperationName
}

function compileRules(rules: readonly WrittenRule[], others: readonly WrittenPolicy[] = []): PolicySet {
  return compilePolicies(parseDocuments([{ name: 'p', namespace: [], rules }, ...others]))
}

/** The call of an intent with these changes. */
function readCall({ principal, ...changes }: Readonly<Record<string, unknown>> & { principal?: object }) {
  const { details: _details, ...entry } = anIntent('r1')
  const recorded = { ...entry, ...changes, principal: { ...entry.principal, ...principal } }
  const stored = { kind: 'intent', time: '2026-06-15T12:00:00Z', ...recorded }
  const call = readRecordedCall(stored as unknown as AuditRecord)
  if (call === undefined) throw new Error('it is one')
  return call
}

/** Returns `allowed` or `denied` under those rules, or the unrecorded input. */
function replayed(
  record: Recorded,
  rules: readonly WrittenRule[],
  others: readonly WrittenPolicy[] = [],
): string {
  const candidate = compileRules(rules, others)
  const { effect, object } = getOperation(record.operation)
  const id = object === 'namespace' ? ['a'] : ['a', 't']
  return describe(replayCall(readCall({ principal: { groups: [] }, id, effect, ...record }), candidate))
}

function describe({ after, missing = [] }: ReplayedCall): string {
  if (after === undefined) return missing.join(' and ')
  return after.allowed ? 'allowed' : 'denied'
}

it.each<[string, Recorded, string]>([
  ['a branch', { operation: 'UpdateTable', details: { branch: 'ci/7' } }, 'branch == "ci/7"'],
  ['a branch that is not stated', { operation: 'UpdateTable', details: {} }, 'branch == "main"'],
  [
    'the branch that is made',
    { operation: 'DeleteTableBranch', details: { name: 'ci/7' } },
    'branch == "ci/7"',
  ],
  ['a mode', { operation: 'InsertIntoTable', details: { mode: 'append' } }, 'mode == "append"'],
  [
    'a location',
    { operation: 'CreateTable', details: { location: 's3://l/t' } },
    'location.isUnder("s3://l")',
  ],
  [
    'that properties are empty',
    { operation: 'CreateTable', details: { property_keys: [] } },
    'properties.size() == 0',
  ],
  ['that there are no properties', { operation: 'CreateTable', details: {} }, 'properties.size() == 0'],
  [
    'a destination',
    { operation: 'RenameTable', details: { new_table_name: 'u' } },
    'destination == ["a", "u"]',
  ],
  ['that there is no metadata', { operation: 'CreateTableVersion', details: {} }, 'metadata.size() == 0'],
  ['a fact that the operation does not have', { operation: 'DropTable', details: {} }, 'mode == ""'],
])('a record determines %s', (_what, record, when) => {
  expect(replayed(record, [only(when)])).toBe('allowed')
  expect(replayed(record, [only(`!(${when})`)])).toBe('denied')
})

it.each<[string, Recorded, string]>([
  [
    'the values of metadata',
    { operation: 'CreateTableVersion', details: { metadata_keys: ['ticket'] } },
    'metadata["ticket"] == "T-1"',
  ],
  [
    'a text that was cut',
    { operation: 'CreateTable', details: { location: `s3://${'x'.repeat(1019)}...` } },
    'location.isUnder("s3://l")',
  ],
  [
    'the values of properties',
    { operation: 'CreateTable', details: { property_keys: ['env'] } },
    'properties["env"] == "dev"',
  ],
  ['what was read', { operation: 'QueryTable', details: {} }, 'branch == "main"'],
])('%s is not recorded, and not guessed', (_what, record, when) => {
  expect(replayed(record, [only(when)])).toBe(`whether ${when}`)
  expect(replayed(record, [everything, deny(when)])).toBe(`whether ${when}`)
})

it.each<[string, Recorded]>([
  ['a whole table', { operation: 'DropTable', details: {} }],
  ['a tag', { operation: 'DeleteTableTag', details: { tag: 'v1' } }],
])('an unknown branch counts against the caller, as in the decision: %s', (_what, record) => {
  expect(replayed(record, [only('branch == "main"')])).toBe('denied')
  expect(replayed(record, [everything, deny('branch == "ci/7"')])).toBe('denied')
  const others = deny('branch != "" && !branch.like("ci/*")', ['change'])
  expect(replayed(record, [everything, others])).toBe('denied')
})

it('an unknown fact together with an unrecorded one leaves the decision open', () => {
  const record = { operation: 'UpdateTableTag', details: { tag: `${'x'.repeat(1024)}...` } } as const
  const when = 'branch == "main" && tag == "v1"'
  expect(replayed(record, [everything, deny(when)])).toBe(`whether ${when}`)
})

const needing = (operation: Recorded['operation'], permission: string, more: object = {}) =>
  ({ operation, objects: [{ operation: permission, id: ['a', 't'], ...more }] }) as Recorded
/** Rules that allow everything except the operation if the condition holds. */
const rules = (operation: string, when: string) => [everything, deny(when, [operation])]

it('decides each further permission of the record with its own facts', () => {
  const insert = {
    ...needing('InsertIntoTable', 'OverwriteTable'),
    details: { mode: 'overwrite', branch: 'ci/7' },
  }
  expect(replayed(insert, rules('OverwriteTable', 'branch == "main"'))).toBe('allowed')
  const create = { ...needing('CreateTable', 'OverwriteTable'), details: { mode: 'overwrite' } }
  expect(replayed(create, rules('OverwriteTable', 'branch == "main"'))).toBe('denied')
  const copy = needing('CreateTableBranch', 'QueryTable')
  const copied = { ...copy, details: { name: 'ci/7', from_branch: 'release' } }
  expect(replayed(copied, rules('QueryTable', 'branch == "release"'))).toBe('denied')
  const merge = needing('MergeInsertIntoTable', 'DeleteFromTable')
  const merged = { ...merge, details: { branch: 'ci/7', when_not_matched_by_source_delete: true } }
  expect(replayed(merged, rules('DeleteFromTable', 'branch == "ci/7"'))).toBe('denied')
  const entry = needing('BatchCreateTableVersions', 'CreateTableVersion', { details: { branch: 'ci/7' } })
  expect(replayed(entry, rules('CreateTableVersion', 'branch == "ci/7"'))).toBe('denied')
  expect(replayed(entry, rules('CreateTableVersion', 'branch == "main"'))).toBe('allowed')
})

it.each<[string, readonly WrittenPolicy[], string]>([
  ['allow it', [], 'allowed'],
  ['deny it on some tables', [beneath({ rules: [deny('true')] })], 'what the policies beneath say'],
  ['do not inherit', [beneath({ inherit: false })], 'what the policies beneath say'],
])('a permission on all descendants is decided if the policies beneath %s', (_what, policies, expected) => {
  const objects = [{ operation: 'DropTable' as const, id: ['a'] }]
  const record = { operation: 'DropNamespace' as const, details: { behavior: 'cascade' }, objects }
  expect(replayed(record, [everything], policies)).toBe(expected)
})

it('a permission that is not in the record was not required', () => {
  const record = { operation: 'CreateTable', details: {} } as const
  const closed = {
    ...everything,
    id: 'no',
    effect: 'deny' as const,
    operations: ['ChooseLocation', 'OverwriteTable'],
  }
  expect(replayed(record, [everything, closed])).toBe('allowed')
})

const pseudonym = '0123456789abcdef0123456789abcdef'
const hidden = {
  operation: 'DropTable',
  details: {},
  client: `a-${pseudonym}`,
  principal: { name: `p-${pseudonym}`, method: 'api-key', credentialId: `c-${pseudonym}`, groups: ['g'] },
} as const
const byUser: WrittenRule = { ...everything, id: 'user', subjects: { users: ['ann'] } }
const byKey: WrittenRule = { ...everything, id: 'key', subjects: { keys: ['0123456789ab'] } }
const byGroup: WrittenRule = { ...everything, id: 'group', subjects: { groups: ['g'] } }

it.each<[string, readonly WrittenRule[], string]>([
  ['a user', [byUser], 'the name of the caller'],
  ['a key', [byKey], 'the name of the caller'],
  ['a denied user', [everything, { ...byUser, effect: 'deny' }], 'the name of the caller'],
  [
    'all but a user',
    [{ ...everything, subjects: { any: true, except: { users: ['ann'] } } }],
    'the name of the caller',
  ],
  ['the name in a condition', [only('principal.name == "ann"')], 'whether principal.name == "ann"'],
  ['the address', [only('client.address == "10.0.0.1"')], 'whether client.address == "10.0.0.1"'],
  ['a group', [byGroup], 'allowed'],
])('a pseudonym decides no rule about %s', (_what, policies, expected) => {
  expect(replayed(hidden, policies)).toBe(expected)
})

const allowing = (id: string, ...groups: readonly string[]): WrittenRule => ({
  ...everything,
  id,
  subjects: { groups },
})
const denying = (group: string) =>
  [{ ...allowing('deny', group), effect: 'deny' }, { ...everything }] satisfies WrittenRule[]
const cut = { groups: ['admins'], groupsOmitted: 2 }

it.each<[string, Partial<AuditedPrincipal>, readonly WrittenRule[], string]>([
  ['all that are recorded', { groups: ['h'] }, [allowing('other', 'h')], 'allowed'],
  ['that others are not recorded', { groups: ['h'] }, [allowing('other', 'i')], 'denied'],
  ['nothing without groups', {}, [allowing('other', 'h')], 'the groups of the caller'],
  ['a recorded one of a list that was cut', cut, denying('admins'), 'denied'],
  ['not whether one was cut', cut, denying('zoo'), 'all groups of the caller'],
])('of the groups of a caller, a record reveals %s', (_what, principal, rules, expected) => {
  const call = readCall({ operation: 'DropTable', id: ['a', 't'], effect: 'change', principal })
  expect(describe(replayCall(call, compileRules(rules)))).toBe(expected)
})

it('a listing that no rule allows may have returned visible objects', () => {
  const record = { operation: 'ListTables', details: {} } as const
  expect(replayed(record, [])).toBe('what the listing may show')
  expect(replayed(record, [everything])).toBe('allowed')
})
