import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { idToJson, memberToJson, stringToJson } from '../../../src/audit/records/json-text.ts'
import {
  createOutcomeRecord,
  createRequestRecordFactory,
  createResolvedRecord,
} from '../../../src/audit/records/unchained-record.ts'
import { openRedaction } from '../../../src/audit/records/redaction.ts'
import { redactionSchema } from '../../../src/config/audit-settings.ts'
import type {
  AuditedPrincipal,
  IntentEntry,
  OutcomeEntry,
  RefusalEntry,
  ResolvedEntry,
} from '../../../src/audit/records/audit-record.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** All members of an entry, in the order of the record. */
type Ordered<Entry> = { readonly [Member in keyof Required<Entry>]: unknown }

const slowText = (members: object): string => JSON.stringify(members).slice(1, -1)

const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom('', 'orders', '"', '\\', '\n', '\u007f', '\u2028', '\ud800', 'ünï', '🜂', '__proto__'),
)
const id = fc.array(text, { maxLength: 3 })
const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined })
const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<never>
const details = fc.dictionary(fc.oneof(text, fc.constantFrom('predicate', 'filter')), maybe(json), {
  maxKeys: 4,
})
const number = fc.oneof(fc.nat(), fc.double({ noNaN: true }), fc.constant(-0))
const principal: fc.Arbitrary<AuditedPrincipal> = fc.record(
  {
    name: text,
    method: fc.constantFrom('token', 'api-key'),
    credentialId: text,
    issuer: text,
    claims: fc.dictionary(fc.constantFrom('team', 'email'), json),
    groups: fc.uniqueArray(text, { maxLength: 3 }).map((names) => new Set(names)),
  },
  { requiredKeys: ['name', 'method', 'credentialId'] },
)
const rule = fc.record(
  { policy: text, rule: text, file: text, line: fc.nat(), until: text },
  { requiredKeys: ['policy', 'rule', 'file', 'line'] },
)
const context = fc.dictionary(fc.constantFrom('tenant', 'other'), text)
const operation = fc.constantFrom('CreateTableVersion', 'BatchCreateTableVersions', 'DropNamespace')
const versions = fc.array(fc.record({ id, branch: maybe(text), version: fc.nat(), eTag: maybe(text) }))

/** A redaction that allows some claims and context entries. */
async function someRedaction() {
  const keyFile = join(await temporaryFolder(), 'key')
  await writeFile(keyFile, randomBytes(32).toString('base64url'))
  const groups = { maxRecordedGroups: 2 }
  const shown = {
    recordedClaims: ['team'],
    recordedContextKeys: ['tenant'],
    keyFile,
    ...groups,
  }
  return openRedaction('', redactionSchema.parse(shown))
}

const only = (members: Readonly<Record<string, unknown>> | undefined, name: string) =>
  members !== undefined && Object.hasOwn(members, name) ? { [name]: members[name] } : undefined

const shownPrincipal = (caller: AuditedPrincipal): Ordered<AuditedPrincipal> => ({
  name: caller.name,
  method: caller.method,
  credentialId: caller.credentialId,
  issuer: caller.issuer,
  claims: only(caller.claims, 'team'),
  groups: [...(caller.groups ?? [])].toSorted().slice(0, 2),
  groupsOmitted: new Set(caller.groups).size > 2 ? 1 : undefined,
})

it('writes texts, ids and members like JSON.stringify', () => {
  fc.assert(
    fc.property(text, id, (anyText, anyId) => {
      expect(stringToJson(anyText)).toBe(JSON.stringify(anyText))
      expect(idToJson(anyId)).toBe(JSON.stringify(anyId))
    }),
  )
  fc.assert(
    fc.property(fc.oneof(text, number, json, fc.constant(undefined), fc.constant(Number.NaN)), (value) => {
      expect(`"first":0${memberToJson('name', value)}`).toBe(slowText({ first: 0, name: value }))
    }),
  )
  expect(() => memberToJson('name', 7n)).toThrow(TypeError)
})

it('writes an intent like JSON.stringify', async () => {
  const redaction = await someRedaction()
  const records = createRequestRecordFactory(redaction)
  const objects = fc.array(
    fc.record({ operation, id, details: maybe(details), before: maybe(fc.nat()) }, { noNullPrototype: true }),
  )
  const entry: fc.Arbitrary<IntentEntry> = fc.record({
    request: text,
    operation,
    id,
    objects: maybe(objects),
    effect: fc.constantFrom('commit', 'change'),
    principal,
    rule,
    restrictedBy: maybe(fc.array(rule, { minLength: 1, maxLength: 2 })),
    policyRevision: text,
    client: text,
    peer: maybe(text),
    context: maybe(context),
    upstream: text,
    database: maybe(text),
    before: maybe(fc.nat()),
    facts: maybe(fc.constant(1 as const)),
    details: maybe(details),
  })
  const slow = (intent: IntentEntry): Ordered<IntentEntry> => ({
    request: intent.request,
    operation: intent.operation,
    id: intent.id,
    objects: intent.objects?.map((object) => ({
      ...object,
      details: redaction.redactDetails(object.details),
    })),
    effect: intent.effect,
    principal: shownPrincipal(intent.principal),
    rule: intent.rule,
    restrictedBy: intent.restrictedBy,
    policyRevision: intent.policyRevision,
    client: intent.client,
    peer: intent.peer,
    context: only(intent.context, 'tenant'),
    upstream: intent.upstream,
    database: intent.database,
    before: intent.before,
    facts: intent.facts,
    details: redaction.redactDetails(intent.details),
  })
  fc.assert(
    fc.property(entry, (intent) => {
      expect(records.createIntent(intent).members).toBe(slowText(slow(intent)))
      // Cached text must be equal.
      expect(records.createIntent(intent).members).toBe(slowText(slow(intent)))
    }),
  )
})

it('writes a refusal like JSON.stringify', async () => {
  const redaction = await someRedaction()
  const records = createRequestRecordFactory(redaction)
  const optional = { operation, id, principal, rule, policyRevision: text, peer: text, context, details }
  const entry: fc.Arbitrary<RefusalEntry> = fc.record(
    { request: text, status: fc.nat(), reason: text, client: text, ...optional },
    { requiredKeys: ['request', 'status', 'reason', 'client'] },
  )
  const slow = (refusal: RefusalEntry): Ordered<RefusalEntry> => ({
    request: refusal.request,
    status: refusal.status,
    reason: refusal.reason,
    operation: refusal.operation,
    id: refusal.id,
    principal: refusal.principal && shownPrincipal(refusal.principal),
    rule: refusal.rule,
    policyRevision: refusal.policyRevision,
    client: refusal.client,
    peer: refusal.peer,
    context: only(refusal.context, 'tenant'),
    details: redaction.redactDetails(refusal.details),
  })
  fc.assert(
    fc.property(entry, (refusal) => {
      expect(records.createRefusal(refusal).members).toBe(slowText(slow(refusal)))
    }),
  )
})

it('writes outcomes and resolutions like JSON.stringify', () => {
  const intent = { chain: '00000001-a', seq: 7, request: 'r"', tables: [['a', 'b']] }
  const outcome: fc.Arbitrary<OutcomeEntry> = fc.record({
    result: fc.constantFrom('committed', 'rejected', 'failed', 'unknown'),
    status: maybe(fc.nat()),
    version: maybe(fc.nat()),
    versions: maybe(versions),
    upload: maybe(fc.record({ bytes: fc.nat(), batches: fc.nat(), rows: fc.nat(), unread: text })),
    durationMs: number,
    details: maybe(details),
  })
  const resolved: fc.Arbitrary<ResolvedEntry> = fc.record(
    { result: fc.constantFrom('taken', 'undecided'), evidence: text, lookups: fc.nat(), versions },
    { requiredKeys: ['result', 'evidence', 'lookups'] },
  )
  fc.assert(
    fc.property(outcome, (entry) => {
      const { result, status, version, versions, upload, durationMs, details } = entry
      const ordered: Ordered<OutcomeEntry> = {
        result,
        status,
        version,
        versions,
        upload,
        durationMs,
        details,
      }
      const { members, tables } = createOutcomeRecord(intent, entry)
      expect(members).toBe(slowText({ request: intent.request, intentSeq: intent.seq, ...ordered }))
      expect(tables).toBe(intent.tables)
    }),
  )
  fc.assert(
    fc.property(resolved, (entry) => {
      const { result, evidence, lookups, versions } = entry
      const ordered: Ordered<ResolvedEntry> = { result, evidence, lookups, versions }
      const reference = { request: intent.request, intentSeq: intent.seq, intentChain: intent.chain }
      expect(createResolvedRecord(intent, entry).members).toBe(slowText({ ...reference, ...ordered }))
    }),
  )
})
